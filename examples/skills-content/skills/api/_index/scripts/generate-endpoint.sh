#!/usr/bin/env bash
# Creates a Fastify route file and its test. Existing files are left alone.
set -euo pipefail

usage() {
  cat >&2 <<'USAGE'
Usage: SKILL_ARG_PROJECT_DIR=<dir> SKILL_ARG_RESOURCE=<plural> bash generate-endpoint.sh

  SKILL_ARG_PROJECT_DIR  root of the API project; must exist
  SKILL_ARG_RESOURCE     plural name in lower case, e.g. orders or line-items
USAGE
  exit 2
}

project_dir="${SKILL_ARG_PROJECT_DIR:-}"
resource="${SKILL_ARG_RESOURCE:-}"

[[ -n "$project_dir" && -n "$resource" ]] || usage
if [[ ! -d "$project_dir" ]]; then
  printf 'error: no such directory: %s\n' "$project_dir" >&2
  exit 1
fi
# The name goes into file names and source code, so accept nothing surprising.
if [[ ! "$resource" =~ ^[a-z][a-z0-9]*(-[a-z0-9]+)*$ ]]; then
  printf 'error: resource must look like "orders" or "line-items", not "%s"\n' "$resource" >&2
  exit 1
fi

# line-items -> lineItems
camel="$(printf '%s' "$resource" | awk -F- '{
  out = $1
  for (i = 2; i <= NF; i++) out = out toupper(substr($i, 1, 1)) substr($i, 2)
  print out
}')"

routes_dir="$project_dir/src/routes"
mkdir -p -- "$routes_dir"

write_new() {
  local target="$routes_dir/$1"
  if [[ -e "$target" || -L "$target" ]]; then
    cat >/dev/null
    printf 'kept     %s (already there)\n' "$target"
  else
    cat >"$target"
    printf 'created  %s\n' "$target"
  fi
}

write_new "$resource.ts" <<EOF
import type { FastifyInstance } from "fastify";

type ListQuery = { cursor?: string; limit: number };
type Page = { items: readonly { id: string }[]; nextCursor: string | null };

const listQuery = {
  type: "object",
  additionalProperties: false,
  properties: {
    cursor: { type: "string", maxLength: 512 },
    limit: { type: "integer", minimum: 1, maximum: 100, default: 20 },
  },
} as const;

export type Dependencies = { list: (query: ListQuery) => Promise<Page> };

export function ${camel}Routes(deps: Dependencies) {
  return async (app: FastifyInstance): Promise<void> => {
    app.get<{ Querystring: ListQuery }>(
      "/v1/$resource",
      { schema: { querystring: listQuery } },
      (request) => deps.list(request.query),
    );
  };
}
EOF

write_new "$resource.test.ts" <<EOF
import Fastify from "fastify";
import { expect, it } from "vitest";

import { ${camel}Routes } from "./$resource";

function build() {
  const app = Fastify();
  app.register(${camel}Routes({ list: async () => ({ items: [{ id: "1" }], nextCursor: null }) }));
  return app;
}

it("lists $resource", async () => {
  const response = await build().inject("/v1/$resource");
  expect(response.statusCode).toBe(200);
  expect(response.json()).toEqual({ items: [{ id: "1" }], nextCursor: null });
});

it("refuses a page larger than the limit", async () => {
  const response = await build().inject("/v1/$resource?limit=101");
  expect(response.statusCode).toBe(400);
});
EOF

printf 'todo     describe /v1/%s in the OpenAPI document and register the route\n' "$resource"
