// The playground in Chromium, by clicks: `node playground.test.js CHROMIUM URL`.

const assert = require("node:assert");
const { chromium } = require("playwright-core");

const SCHEDULE = "#sched.schedule<tile = [2, 6, 0, 1], parallel = [1, 0], vectorize = 2>";

async function main(executablePath, url) {
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const page = await browser.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  const answer = () => page.textContent("[data-testid=answer]");
  const assembly = () => page.textContent("[data-testid=level-asm]");
  const answered = (text) => page.waitForFunction((wanted) => document.querySelector("[data-testid=answer]").textContent.includes(wanted), text);

  await page.goto(url);
  await page.waitForFunction(() => window.stepwell.data);
  assert(!page.url().includes("token"), "the token is not in an address that is copied");
  await page.click("text=layer0");
  const compiled = await assembly();
  assert.match(await page.inputValue("#try textarea"), /^#sched\.schedule</);

  await page.fill("#try textarea", SCHEDULE);
  await page.click("#try button:text-is('try')");
  await answered("same results");
  assert.match(await answer(), /times as fast \(/);
  assert.notEqual(await assembly(), compiled);
  assert((await page.$$("[data-testid=level-asm] .marked")).length > 0, "lines of the tried assembly have nodes");
  assert.equal(await page.$(".wrong"), null);

  await page.fill("#try textarea", "#sched.schedule<tile = [2");
  await page.press("#try textarea", "Control+Enter");
  await answered("error[syntax]");
  assert.match(await answer(), /^line 1, column \d+: /);
  assert(await page.$("#try .wrong"));

  await page.click("#try button:text-is('as compiled')");
  assert.equal(await assembly(), compiled);
  assert.equal(await answer(), "");

  await page.selectOption("#try select", "vector");
  const text = await page.inputValue("#try textarea");
  await page.fill("#try textarea", text.replaceAll("arith.maximumf", "arith.minimumf"));
  await page.click("#try button:text-is('try')");
  await answered("other results");
  assert(await page.$("#try .wrong"));

  await page.selectOption("#try select", "loops");
  await page.click("#try button:text-is('try')");
  await answered("error[needs-trust]");

  page.on("dialog", (dialog) => dialog.accept("mine.mlir"));
  await page.click("#try button:text-is('save')");
  await answered("wrote mine.mlir");

  await page.reload();
  await page.waitForSelector("#try textarea");
  assert.deepEqual(errors, []);
  await browser.close();
}

main(...process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exit(1);
});
