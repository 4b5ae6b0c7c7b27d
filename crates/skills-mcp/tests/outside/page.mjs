// Looks at the page as people do: in Chromium, on a phone, a tablet and a wide screen, by day and by night, by keyboard
// and through axe-core. Prints what it saw as one line of JSON; every complaint is in `complaints`.
//
//   node page.mjs URL REPORT FOLDER VIEWS SKILL...
//
// REPORT is a file with what `skills-mcp stats --json` says of the same events, FOLDER is for screenshots, VIEWS is `all`
// or `few`, SKILL is a skill whose own page is looked at. LOGIN in the environment is a page that asks for TOKEN.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { checkKeyboard, checkOrder, checkRules, checkWidth, complain, inBrowser, opened, said, seen } from "./browser.mjs";

const [url, reportFile, folder, views, ...skills] = process.argv.slice(2);
const report = JSON.parse(readFileSync(reportFile, "utf8"));

/** What a JSON pointer points at; `length` counts a list. */
function at(pointer) {
  return pointer.split("/").slice(1).reduce((value, name) => value?.[name], report);
}

async function checkNumbers(page, where) {
  const numbers = await page.$$eval("[data-is]", (all) =>
    all.map((one) => [one.getAttribute("data-is"), one.getAttribute("value"), one.textContent]),
  );
  for (const [pointer, value, text] of numbers) {
    const expected = at(pointer);
    if (expected !== Number(value)) complain(where, `${pointer} is ${value}, in the report ${expected}`);
    // A whole number below ten thousand is shown to the last digit.
    const whole = Number.isInteger(expected) && expected < 10_000 && !pointer.endsWith("/share");
    if (whole && !pointer.endsWith("_score") && text.replaceAll(",", "") !== value) complain(where, `${pointer} is shown as ${text}`);
  }
  seen.numbers += numbers.length;
  return new Set(numbers.map(([pointer]) => pointer));
}

/** Every row of the lists leads to the page of the skill it is about; or, where no skill came near, to all that are like it. */
async function checkRows(page, where) {
  const rows = await page.$$eval("section.panel", (panels) =>
    panels.flatMap((panel) => {
      const list = panel.getAttribute("aria-labelledby");
      const all = [...panel.querySelectorAll(":scope ol.rows > li, :scope ul.rows > li, ol.advice > li, table.cards tbody tr")];
      return all.map((one, row) => ({ list, row, links: [...one.querySelectorAll("a")].map((a) => a.getAttribute("href")) }));
    }),
  );
  const others = { fix: "/?", missed: "/all?of=misses" };
  // What has no skill: tools, clients, servers, and files that are none's.
  const plain = ({ list, row }) => ["latency", "clients", "servers"].includes(list) || (list === "health" && !report.health.findings[row].skill);
  for (const one of rows) {
    const leads = one.links.some((link) => link.startsWith("/skill?") || link.startsWith(others[one.list] ?? "/skill?"));
    if (!leads && !plain(one)) complain(where, `row ${one.row} of ${one.list} leads nowhere`);
  }
  for (const list of ["skills", "missed", "never"]) {
    if (!rows.some((one) => one.list === list)) complain(where, `no row of ${list} was looked at`);
  }
  const names = await page.$$eval("a[href^='/skill?']", (all) => all.map((one) => new URL(one.href).searchParams.get("name")));
  const known = new Set(names);
  for (const { skill: name } of report.skills.slice(0, 10)) {
    if (!known.has(name)) complain(where, `no row leads to ${name}`);
  }
}

await inBrowser(async (browser) => {
  const pages = [
    ["overview", `${url}?days=30`],
    ...skills.map((skill, place) => [`skill-${place + 1}`, `${url}skill?name=${encodeURIComponent(skill)}&days=30`]),
  ];
  for (const [name, address] of pages) {
    for (const width of views === "few" ? [360] : [360, 768, 1440]) {
      for (const scheme of views === "few" ? ["light"] : ["light", "dark"]) {
        const where = `${name} ${width} ${scheme}`;
        const { context, page } = await opened(browser, address, width, scheme, where);
        // Before axe-core is put in: nothing of the page's own needs a script.
        await checkOrder(page, where);
        await checkWidth(page, where);
        const pointers = await checkNumbers(page, where);
        if (name === "overview" && report.totals.events > 0) {
          await checkRows(page, where);
          for (const pointer of ["/totals/served", "/totals/skills_used", "/totals/none", "/totals/tokens", "/totals/loaded/of"]) {
            if (!pointers.has(pointer)) complain(where, `${pointer} is not shown`);
          }
        }
        await page.screenshot({ path: join(folder, `${name}-${width}-${scheme}.png`), fullPage: true });
        await checkRules(page, where);
        if (scheme === "light") await checkKeyboard(page, where);
        seen.views += 1;
        await context.close();
      }
    }
  }
  // The long lists once each: there is nothing in them that the first view has not.
  for (const list of ["skills", "misses"]) {
    const where = `all ${list}`;
    const { context, page } = await opened(browser, `${url}all?of=${list}&days=30`, 360, "light", where);
    await checkOrder(page, where);
    await checkWidth(page, where);
    await checkNumbers(page, where);
    await checkRules(page, where);
    await context.close();
  }
  if (process.env.LOGIN) {
    const { context, page } = await opened(browser, process.env.LOGIN, 360, "light", "login", 401);
    for (const where of ["login", "login again"]) {
      await checkOrder(page, where);
      await checkWidth(page, where);
      await checkRules(page, where);
      if (where === "login again") {
        await page.screenshot({ path: join(folder, "login.png") });
        await page.fill("#token", process.env.TOKEN);
        await Promise.all([page.waitForURL(process.env.LOGIN), page.click("button")]);
        const shown = await page.textContent("h1");
        if (shown !== "What skills do") complain(where, `the token is answered with ${shown}`);
      } else {
        await page.fill("#token", "not-the-token");
        await Promise.all([page.waitForURL("**/login"), page.click("button")]);
        const said = await page.textContent("main");
        if (!said.includes("not the token")) complain(where, `a wrong token is answered with ${said}`);
      }
    }
    await context.close();
  }
});
said();
