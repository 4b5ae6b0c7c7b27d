// Looks at the pages of the catalog as people do: in Chromium, on a phone, a tablet and a wide screen, by day and by night, by
// keyboard and through axe-core. Prints what it saw as one line of JSON; every complaint is in `complaints`.
//
//   node browse.mjs URL FOLDER VIEWS PATH...
//
// FOLDER is for screenshots, VIEWS is `all` or `few`, PATH is a page.

import { join } from "node:path";
import { checkKeyboard, checkOrder, checkRules, checkWidth, complain, inBrowser, opened, said, seen } from "./browser.mjs";

const [url, folder, views, ...paths] = process.argv.slice(2);

/** The first Tab reaches the link that skips the head, and Enter follows it. */
async function checkSkip(page, where) {
  await page.keyboard.press("Tab");
  const first = await page.evaluate(() => document.activeElement.getAttribute("href"));
  if (first !== "#content") complain(where, `the first link is ${first}`);
  await page.keyboard.press("Enter");
  const focused = await page.evaluate(() => document.activeElement.id);
  if (focused !== "content") complain(where, `the skip link leads to ${focused}`);
}

/** Nothing of the page came from content that must not run: no title of its own, no dialog, no picture but the icon. */
async function checkHarmless(page, where) {
  const title = await page.title();
  if (!title.endsWith(" · skills-mcp")) complain(where, `the title is ${title}`);
  const pictures = await page.$$eval("main img, main picture, main video, main form[action^='http'], main svg image", (all) => all.length);
  if (pictures > 0) complain(where, `${pictures} pictures or forms of others`);
  const links = await page.$$eval("main a", (all) => all.map((one) => one.getAttribute("href")));
  for (const link of links) {
    if (!/^(\/|#|https?:\/\/|mailto:)/.test(link) || link.startsWith("//")) complain(where, `a link leads to ${link}`);
  }
}

await inBrowser(async (browser) => {
  for (const [place, path] of paths.entries()) {
    for (const width of views === "few" ? [320] : [320, 768, 1440]) {
      for (const scheme of views === "few" ? ["light"] : ["light", "dark"]) {
        const where = `${path} ${width} ${scheme}`;
        const { context, page } = await opened(browser, new URL(path, url).href, width, scheme, where);
        page.on("dialog", (dialog) => complain(where, `a dialog says ${dialog.message()}`));
        await checkOrder(page, where);
        await checkWidth(page, where);
        await checkHarmless(page, where);
        await page.screenshot({ path: join(folder, `${place}-${width}-${scheme}.png`), fullPage: true });
        await checkRules(page, where);
        if (scheme === "light") await checkKeyboard(page, where);
        seen.views += 1;
        await context.close();
      }
    }
  }
  // By keyboard alone: from the catalog to what a request finds, and to a skill.
  const { context, page } = await opened(browser, new URL("/skills", url).href, 1024, "light", "by keyboard");
  await checkSkip(page, "by keyboard");
  await page.focus("#ask");
  await page.keyboard.type("signing in with cookies");
  await Promise.all([page.waitForURL("**/skills/search?q=*"), page.keyboard.press("Enter")]);
  if ((await page.textContent("h1")) !== "Search") complain("by keyboard", "Enter does not search");
  if ((await page.inputValue("#ask")) !== "signing in with cookies") complain("by keyboard", "the request is forgotten");
  await page.focus("ol.hits a");
  await Promise.all([page.waitForURL(/\/skills\/(?!search)/), page.keyboard.press("Enter")]);
  if ((await page.locator("#received").count()) !== 1) complain("by keyboard", "a hit does not lead to its skill");
  await context.close();
});
said();
