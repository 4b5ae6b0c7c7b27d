// Checks an auth configuration. Runs under any Node from 18 on.
//
//   SKILL_ARG_CONFIG_PATH  .json file, or .ts/.js/.mjs module exporting the
//                          configuration as `authConfig` or as its default.
//                          A module is evaluated, so keep it free of side effects.
//
// Prints one line per check; exits 1 if any of them failed.

const { readFileSync, statSync } = require("node:fs");
const { extname, resolve } = require("node:path");
const { pathToFileURL } = require("node:url");

const isObject = (value) =>
  typeof value === "object" && value !== null && !Array.isArray(value);

// A check returns what is wrong with the value, or null.
const oneOf =
  (...allowed) =>
  (value) =>
    typeof value === "string" && allowed.includes(value)
      ? null
      : `must be one of ${allowed.join(", ")}`;

// "//host" and "/\host" are read by browsers as another origin.
const isLocalPath = (value) =>
  typeof value === "string" && /^\/(?![\/\\])[^\s\\]*$/.test(value);

const localPath = (value) =>
  isLocalPath(value) ? null : 'must be a path of this origin, such as "/auth/login"';

const baseUrl = (value) => {
  if (typeof value !== "string" || value === "") return "must be a path or a URL";
  if (value.endsWith("/")) return "must not end with a slash";
  if (value.startsWith("/")) return localPath(value);
  let url;
  try {
    url = new URL(value);
  } catch {
    return "is neither a path nor a URL";
  }
  if (url.username !== "" || url.password !== "") return "must not contain credentials";
  const local = ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname);
  if (url.protocol === "https:" || (url.protocol === "http:" && local)) return null;
  return "must use https (http is accepted for localhost only)";
};

const credentials = (value, config) => {
  const problem = oneOf("same-origin", "include")(value);
  if (problem !== null) return problem;
  const base = config["apiBaseUrl"];
  if (value === "same-origin" && typeof base === "string" && /^https?:/.test(base)) {
    return 'must be "include" when apiBaseUrl is a URL, or the cookie is not sent';
  }
  return null;
};

const idleMinutes = (value) =>
  Number.isInteger(value) && value >= 5 && value <= 1440
    ? null
    : "must be a whole number from 5 to 1440";

const CHECKS = {
  provider: oneOf("password", "oidc"),
  apiBaseUrl: baseUrl,
  credentials,
  sessionPath: localPath,
  loginPath: localPath,
  logoutPath: localPath,
  afterLoginPath: localPath,
  idleTimeoutMinutes: idleMinutes,
};

const SECRET = /secret|password|private.?key|api.?key|token/i;

// A configuration is data with at most a type or two around it, which come off
// without a compiler: the types themselves, and the annotation of a constant.
const withoutTypes = (text) =>
  text
    .replace(/^(export )?(type|interface) \w+[^{;]*\{[^]*?^\}[^\n]*$/gm, "")
    .replace(/^(export )?type \w+ =[^;]*;/gm, "")
    .replace(/^import type [^;]*;/gm, "")
    .replace(/^((export )?const \w+)\s*:\s*[^=]+=/gm, "$1 =")
    .replace(/\b(as const|(as|satisfies) \w+)(?=\s*;)/g, "");

async function load(path) {
  if (!statSync(path).isFile()) throw new Error("not a file");
  const extension = extname(path);
  if (extension === ".json") return JSON.parse(readFileSync(path, "utf8"));
  if (![".ts", ".js", ".mjs"].includes(extension)) {
    throw new Error("expected a .ts, .js, .mjs or .json file");
  }
  let module;
  if (extension === ".ts" && !process.features.typescript) {
    const source = encodeURIComponent(withoutTypes(readFileSync(path, "utf8")));
    module = await import(`data:text/javascript,${source}`);
  } else {
    module = await import(pathToFileURL(path).href);
  }
  // A CommonJS module shows its exports under `default`, sometimes twice.
  let value = module;
  for (let depth = 0; depth < 3 && isObject(value); depth++) {
    if ("authConfig" in value) return value["authConfig"];
    if (!("default" in value)) break;
    value = value["default"];
  }
  return value === module ? undefined : value;
}

function validate(config) {
  const errors = [];
  for (const [name, check] of Object.entries(CHECKS)) {
    const problem = Object.hasOwn(config, name) ? check(config[name], config) : "is missing";
    if (problem === null) console.log(`ok     ${name}`);
    else errors.push(`${name} ${problem}`);
  }
  for (const name of Object.keys(config)) {
    if (Object.hasOwn(CHECKS, name)) continue;
    errors.push(
      SECRET.test(name)
        ? `${name} looks like a secret; everything here is public in the bundle`
        : `${name} is not a known field`,
    );
  }
  return errors;
}

async function main() {
  const given = process.env["SKILL_ARG_CONFIG_PATH"];
  if (given === undefined || given === "") {
    console.error("error  set SKILL_ARG_CONFIG_PATH to the configuration file");
    return 1;
  }
  let config;
  try {
    config = await load(resolve(given));
  } catch (error) {
    console.error(`error  cannot load ${given}: ${error instanceof Error ? error.message : error}`);
    return 1;
  }
  if (!isObject(config)) {
    console.error(`error  ${given} exports no configuration (expected "authConfig")`);
    return 1;
  }
  const errors = validate(config);
  for (const error of errors) console.error(`error  ${error}`);
  if (errors.length > 0) return 1;
  console.log(`ok     ${given} is valid`);
  return 0;
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error) => {
    console.error(error);
    process.exitCode = 1;
  },
);
