// What every look at a page needs: Chromium, the rules of axe-core, the keyboard, and a list of complaints.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

// Beside what `npm ci` brought, wherever this file is.
const require = createRequire(join(process.cwd(), "browser.mjs"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const complaints = [];
export const complain = (where, what) => complaints.push(`${where}: ${what}`);
export const seen = { numbers: 0, links: 0, views: 0 };

/** Prints what was seen as one line of JSON. */
export const said = () => console.log(JSON.stringify({ ...seen, complaints }));

const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Opens a page that may ask nobody but us. */
export async function opened(browser, address, width, scheme, where, status = 200) {
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

export async function checkRules(page, where) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  for (const { id, help, nodes } of violations) {
    complain(where, `${id}: ${help}: ${nodes.slice(0, 3).map((node) => node.html.slice(0, 200)).join(" | ")}`);
  }
}

export async function checkWidth(page, where) {
  const { wide, room } = await page.evaluate(() => ({
    wide: document.documentElement.scrollWidth,
    room: window.innerWidth,
  }));
  if (wide > room) complain(where, `scrolls sideways: ${wide} in ${room}`);
}

/** Presses Tab until it comes round, and sees that every link was there, could be seen, and came in the order of reading. */
export async function checkKeyboard(page, where) {
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

export async function checkOrder(page, where) {
  const levels = await page.$$eval("h1,h2,h3,h4", (all) => all.map((one) => Number(one.tagName[1])));
  if (levels.filter((level) => level === 1).length !== 1) complain(where, "not one first heading");
  if (levels.some((level, place) => place > 0 && level > levels[place - 1] + 1)) complain(where, "a heading is left out");
  const scripts = await page.$$eval("script, [style], [onclick], [onload], [onerror], iframe, object, embed", (all) => all.length);
  if (scripts > 0) complain(where, `${scripts} scripts, styles or frames in the page`);
}

/** Starts a browser of its own for this work, and ends it. */
export async function inBrowser(work) {
  const profile = mkdtempSync(join(tmpdir(), "chromium-"));
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: [...flags, `--disk-cache-dir=${profile}`],
  });
  try {
    await work(browser);
  } finally {
    await browser.close();
    rmSync(profile, { recursive: true, force: true });
  }
}
