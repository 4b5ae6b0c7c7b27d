// Looks at the page as people do: in Chromium, on a phone, a tablet and a wide screen, by day and by night, by keyboard
// and through axe-core. Prints what it saw as one line of JSON; every complaint is in `complaints`.
//
//   node page.mjs URL REPORT FOLDER VIEWS SKILL...
//
// REPORT is a file with what `skills-mcp stats --json` says of the same events, FOLDER is for screenshots, VIEWS is `all`
// or `few`, SKILL is a skill whose own page is looked at. LOGIN in the environment is a page that asks for TOKEN.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

// Beside what `npm ci` brought, wherever this file is.
const require = createRequire(join(process.cwd(), "page.mjs"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const [url, reportFile, folder, views, ...skills] = process.argv.slice(2);
const report = JSON.parse(readFileSync(reportFile, "utf8"));
const complaints = [];
const complain = (where, what) => complaints.push(`${where}: ${what}`);
const seen = { numbers: 0, links: 0, views: 0 };

const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** What a JSON pointer points at; `length` counts a list. */
function at(pointer) {
  return pointer.split("/").slice(1).reduce((value, name) => value?.[name], report);
}

/** Opens a page that may ask nobody but us. */
async function opened(browser, address, width, scheme, where, status = 200) {
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    colorScheme: scheme,
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  const origin = new URL(address).origin;
  await page.route("**/*", (route) => {
    if (new URL(route.request().url()).origin === origin) return route.continue();
    complain(where, `asks ${route.request().url()}`);
    return route.abort();
  });
  page.on("console", (message) => {
    const expected = status !== 200 && message.text().includes(`status of ${status}`);
    if (["error", "warning"].includes(message.type()) && !expected) complain(where, message.text());
  });
  page.on("pageerror", (error) => complain(where, String(error)));
  const response = await page.goto(address);
  if (response.status() !== status) complain(where, `status ${response.status()}`);
  return { context, page };
}

async function checkRules(page, where) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  for (const { id, help, nodes } of violations) {
    complain(where, `${id}: ${help}: ${nodes.slice(0, 3).map((node) => node.html.slice(0, 200)).join(" | ")}`);
  }
}

async function checkWidth(page, where) {
  const { wide, room } = await page.evaluate(() => ({
    wide: document.documentElement.scrollWidth,
    room: window.innerWidth,
  }));
  if (wide > room) complain(where, `scrolls sideways: ${wide} in ${room}`);
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

/** Presses Tab until it comes round, and sees that every link was there, could be seen, and came in the order of reading. */
async function checkKeyboard(page, where) {
  const links = await page.$$eval("a[href], summary", (all) => {
    all.forEach((one, place) => one.setAttribute("data-place", place));
    return all.length;
  });
  const reached = [];
  for (let pressed = 0; pressed < links + 50; pressed += 1) {
    await page.keyboard.press("Tab");
    const focused = await page.evaluate(() => {
      const one = document.activeElement;
      if (!one || one === document.body) return null;
      const style = getComputedStyle(one);
      const marked = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
      const box = one.getBoundingClientRect();
      return { place: one.getAttribute("data-place"), marked, seen: box.width > 0 && box.height > 0, html: one.outerHTML.slice(0, 120) };
    });
    if (focused === null) break;
    if (!focused.marked) complain(where, `focus cannot be seen on ${focused.html}`);
    if (!focused.seen) complain(where, `focus is on nothing: ${focused.html}`);
    if (focused.place !== null) reached.push(Number(focused.place));
  }
  const missing = [...Array(links).keys()].filter((place) => !reached.includes(place));
  if (missing.length > 0) complain(where, `${missing.length} of ${links} links are not reached by Tab`);
  if (reached.some((place, turn) => turn > 0 && place < reached[turn - 1])) complain(where, "Tab jumps back");
  seen.links += reached.length;
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
  // What has no skill: tools, clients, and files that are none's.
  const plain = ({ list, row }) => ["latency", "clients"].includes(list) || (list === "health" && !report.health.findings[row].skill);
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

async function checkOrder(page, where) {
  const levels = await page.$$eval("h1,h2,h3,h4", (all) => all.map((one) => Number(one.tagName[1])));
  if (levels.filter((level) => level === 1).length !== 1) complain(where, "not one first heading");
  if (levels.some((level, place) => place > 0 && level > levels[place - 1] + 1)) complain(where, "a heading is left out");
  const scripts = await page.$$eval("script, [style], [onclick], [onload], [onerror], iframe, object, embed", (all) => all.length);
  if (scripts > 0) complain(where, `${scripts} scripts, styles or frames in the page`);
}

const profile = mkdtempSync(join(tmpdir(), "chromium-"));
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: [...flags, `--disk-cache-dir=${profile}`],
});
try {
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
          for (const pointer of ["/totals/served", "/totals/skills_used", "/totals/misses", "/totals/tokens", "/totals/found/of"]) {
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
} finally {
  await browser.close();
  rmSync(profile, { recursive: true, force: true });
}
console.log(JSON.stringify({ ...seen, complaints }));
