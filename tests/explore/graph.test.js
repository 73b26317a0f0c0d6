// The graph in Chromium, by clicks: `node graph.test.js CHROMIUM URL`, of the page that `made_up` makes.

const assert = require("node:assert");
const { chromium } = require("playwright-core");

async function main(executablePath, url) {
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const page = await browser.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  const state = () => page.evaluate(() => window.stepwell.state());
  const where = (id) => page.evaluate((each) => window.stepwell.whereIs(each), id);
  const click = async ({ x, y }) => {
    await page.mouse.click(x, y);
    await page.evaluate(() => new Promise(requestAnimationFrame));
    return state();
  };
  const open = async (address) => {
    await page.goto(`${url}#${address}`);
    await page.reload();
    await page.waitForFunction(() => window.stepwell.data);
  };

  // A block of two groups, ten times: one item; a click opens it in its place, and then a group in it.
  await open("folded=1");
  assert.deepEqual(await where("n0").then(({ box }) => box), await where("n199").then(({ box }) => box));
  const { box, title } = await where("n0");
  assert.equal(title, undefined);
  assert.deepEqual((await click(box)).open, [0]);
  assert.notDeepEqual((await where("n0")).box, (await where("n199")).box);
  assert.deepEqual((await where("n0")).box, (await where("n9")).box);
  await page.keyboard.press("f");
  assert.deepEqual((await click((await where("n10")).box)).open, [0, 2]);
  await page.keyboard.press("f");
  await page.mouse.move((await where("n10")).box.x, (await where("n10")).box.y);
  for (let i = 0; i < 4; i += 1) await page.mouse.wheel(0, -400);
  const chosen = await click((await where("n10")).box);
  assert.equal(chosen.node, "/layer.1/Relu_10");
  assert.deepEqual(chosen.open, [0, 2]);
  assert.match(page.url(), /open=0%2C2/);

  // An address opens them; their titles close them.
  await open("folded=1&open=0,2");
  assert.deepEqual((await state()).open, [0, 2]);
  await page.keyboard.press("f");
  const inner = (await where("n10")).title;
  await page.mouse.move(inner.x, inner.y);
  for (let i = 0; i < 4; i += 1) await page.mouse.wheel(0, -400);
  assert.deepEqual((await click((await where("n10")).title)).open, [0]);

  // The stub of an edge over 150 layers jumps to its other end, and back.
  await open("folded=0&node=/layer.0/MatMul_0");
  assert.equal((await click((await where("n0")).stub)).node, "/layer.15/Relu_150");
  assert.equal((await click((await where("n150")).stub)).node, "/layer.0/MatMul_0");

  // A drag moves the graph and chooses nothing.
  const before = (await where("n1")).box;
  await page.mouse.move(before.x, before.y);
  await page.mouse.down();
  await page.mouse.move(before.x + 40, before.y + 30, { steps: 4 });
  await page.mouse.up();
  const after = (await where("n1")).box;
  assert(Math.abs(after.x - before.x - 40) < 2 && Math.abs(after.y - before.y - 30) < 2);
  assert.equal((await state()).node, "/layer.0/MatMul_0");

  // A row of a table is chosen by the keyboard.
  await open("table=kernels");
  assert.equal((await state()).node, null);
  await page.focus("#tables tbody tr");
  await page.keyboard.press("Enter");
  assert.equal((await state()).node, "/layer.0/MatMul_0");

  assert.deepEqual(errors, []);
  await browser.close();
}

main(...process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exit(1);
});
