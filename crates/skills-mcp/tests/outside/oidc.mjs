// An OpenID provider on a port of this machine, and tokens of every kind. Prints one JSON line when it listens; then each line
// on standard input is a command, answered with one line.

import { createInterface } from "node:readline";
import { createServer } from "node:http";
import { createHmac, randomUUID } from "node:crypto";
import * as jose from "jose";
import Provider from "oidc-provider";

// Standard output is for answers.
console.info = console.warn = console.error;

let audience;

async function key() {
  const { privateKey } = await jose.generateKeyPair("RS256", { extractable: true });
  return { ...(await jose.exportJWK(privateKey)), kid: randomUUID(), use: "sig", alg: "RS256" };
}

let provider;
let keys = [await key()];
const server = createServer((request, response) => provider.callback()(request, response));
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const issuer = `http://127.0.0.1:${server.address().port}`;

function start() {
  provider = new Provider(issuer, {
    jwks: { keys },
    clients: [
      { client_id: "robot", client_secret: "robot-secret", grant_types: ["client_credentials"], redirect_uris: [], response_types: [] },
    ],
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: true },
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => audience,
        useGrantedResource: () => true,
        getResourceServerInfo: (_, indicator) => ({
          scope: "skills:read",
          audience: indicator,
          accessTokenTTL: 3600,
          accessTokenFormat: "jwt",
          jwt: { sign: { alg: "RS256" } },
        }),
      },
    },
    scopes: ["openid", "offline_access", "skills:read"],
    extraTokenClaims: () => ({ skills: ["ui"] }),
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    clientBasedCORS: () => true,
    pkce: { required: () => true },
    cookies: { keys: ["a-key-of-the-tests"] },
    ttl: { ClientCredentials: 600, Session: 600, Interaction: 600, Grant: 600, AuthorizationCode: 60 },
  });
  provider.on("server_error", (_, error) => console.error(error));
}
start();

// A token of the provider itself, for whichever resource.
async function issued(resource, scope) {
  const form = new URLSearchParams({ grant_type: "client_credentials", scope: scope ?? "skills:read" });
  if (resource) form.set("resource", resource);
  const answer = await fetch(`${issuer}/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa("robot:robot-secret")}` },
    body: form,
  });
  return (await answer.json()).access_token;
}

// A token of our own making, signed with the provider's key or another.
async function made({ claims = {}, header = {}, by = keys[0], alg = "RS256" }) {
  const now = Math.floor(Date.now() / 1000);
  const all = { iss: issuer, aud: audience, sub: "ada", iat: now, exp: now + 600, scope: "skills:read", skills: "ui", ...claims };
  for (const name of Object.keys(all)) if (all[name] === null) delete all[name];
  const signer = new jose.SignJWT(all).setProtectedHeader({ alg, kid: by.kid, ...header });
  return signer.sign(await jose.importJWK(by, alg));
}

function encoded(part) {
  return Buffer.from(JSON.stringify(part)).toString("base64url");
}

async function hostile(kind) {
  const now = Math.floor(Date.now() / 1000);
  const { n, e, kid } = keys[0];
  const pem = await jose.exportSPKI(await jose.importJWK({ kty: "RSA", n, e }, "RS256", { extractable: true }));
  const claims = { iss: issuer, aud: audience, sub: "mallory", exp: now + 600, scope: "skills:read", skills: "*" };
  const right = await made({});
  switch (kind) {
    case "expired": return made({ claims: { exp: now - 3600 } });
    case "no expiry": return made({ claims: { exp: null } });
    case "not yet": return made({ claims: { nbf: now + 3600 } });
    case "audience": return made({ claims: { aud: "https://another.example.org/mcp" } });
    case "no audience": return made({ claims: { aud: null } });
    case "issuer": return made({ claims: { iss: "https://evil.example.org" } });
    case "no issuer": return made({ claims: { iss: null } });
    case "another key": return made({ by: { ...(await key()), kid } });
    case "unknown key": return made({ by: await key() });
    case "key in header": {
      const own = await key();
      return made({ by: { ...own, kid }, header: { jwk: { kty: "RSA", n: own.n, e: own.e } } });
    }
    case "critical": return `${encoded({ alg: "RS256", kid, crit: ["exp"] })}.${right.split(".").slice(1).join(".")}`;
    case "none": return `${encoded({ alg: "none", kid })}.${encoded(claims)}.`;
    case "none, signed": return `${encoded({ alg: "none", kid })}.${right.split(".").slice(1).join(".")}`;
    case "shared secret": {
      const signed = `${encoded({ alg: "HS256", kid, typ: "JWT" })}.${encoded(claims)}`;
      return `${signed}.${createHmac("sha256", pem).update(signed).digest("base64url")}`;
    }
    case "changed": {
      const [head, , signature] = right.split(".");
      return `${head}.${encoded(claims)}.${signature}`;
    }
    case "cut": return right.slice(0, -2);
    case "long": return made({ claims: { filler: "x".repeat(20000) } });
  }
  throw new Error(`no such kind: ${kind}`);
}

console.log(JSON.stringify({ issuer }));
for await (const line of createInterface({ input: process.stdin })) {
  const { command, ...given } = JSON.parse(line);
  let said;
  if (command === "audience") said = audience = given.audience;
  if (command === "issued") said = await issued(given.resource, given.scope);
  if (command === "made") said = await made(given);
  if (command === "hostile") said = await hostile(given.kind);
  if (command === "rotate") {
    keys = [await key()];
    start();
    said = "rotated";
  }
  console.log(JSON.stringify(said ?? null));
}
process.exit(0);
