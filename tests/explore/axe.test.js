// The page by axe-core: `node axe.test.js CHROMIUM URL`; prints the serious faults, and fails where there are any.

const { chromium } = require("playwright-core");
const { source } = require("axe-core");

async function main(executablePath, url) {
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const found = [];
  let rules = 0;
  for (const colorScheme of ["light", "dark"]) {
    const page = await browser.newPage({ colorScheme });
    await page.goto(url);
    await page.waitForFunction(() => window.stepwell.data);
    await page.evaluate(source);
    const tables = await page.$$eval("nav[aria-label=Tables] button", (all) => all.map((each) => each.textContent));
    for (const table of tables) {
      await page.click(`nav[aria-label=Tables] >> text="${table}"`);
      const result = await page.evaluate(() => window.axe.run());
      rules += result.passes.length;
      for (const { id, impact, help, nodes } of result.violations) {
        if (["serious", "critical"].includes(impact)) found.push(`${colorScheme} ${table}: ${id}: ${help}\n  ${nodes.map((node) => node.html).slice(0, 3).join("\n  ")}`);
      }
    }
  }
  await browser.close();
  if (found.length || rules < 100) throw new Error(`${rules} rules hold\n${[...new Set(found)].join("\n")}`);
}

main(...process.argv.slice(2)).catch((error) => {
  console.error(error.message);
  process.exit(1);
});
