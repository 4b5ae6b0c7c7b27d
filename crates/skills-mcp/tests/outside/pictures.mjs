// Takes a picture of a page as a wide screen shows it by day.
//
//   node pictures.mjs URL FILE

import { inBrowser, opened, said } from "./browser.mjs";

const [url, file] = process.argv.slice(2);

await inBrowser(async (browser) => {
  const { context, page } = await opened(browser, url, 1000, "light", url);
  await page.setViewportSize({ width: 1000, height: 640 });
  await page.screenshot({ path: file });
  await context.close();
});
said();
