#!/usr/bin/env bash
# Writes Dockerfile and .dockerignore for a Node project. Overwrites nothing.
#
#   SKILL_ARG_PROJECT_DIR   folder with package.json (required)
#   SKILL_ARG_PORT          port the service listens on (default: 3000)
#   SKILL_ARG_NODE_VERSION  major version of Node (default: 22)
#   SKILL_ARG_ENTRYPOINT    built file to run (default: dist/server.js)
set -euo pipefail

fail() {
  printf 'error: %s\n' "$1" >&2
  exit 1
}

project_dir="${SKILL_ARG_PROJECT_DIR:-}"
port="${SKILL_ARG_PORT:-3000}"
node_version="${SKILL_ARG_NODE_VERSION:-22}"
entrypoint="${SKILL_ARG_ENTRYPOINT:-dist/server.js}"

[[ -n "$project_dir" ]] || fail "SKILL_ARG_PROJECT_DIR is not set"
[[ -d "$project_dir" ]] || fail "no such directory: $project_dir"
[[ -f "$project_dir/package.json" ]] || fail "no package.json in $project_dir"
[[ "$port" =~ ^[1-9][0-9]{0,4}$ ]] && ((port <= 65535)) || fail "port must be 1 to 65535, not \"$port\""
[[ "$node_version" =~ ^[1-9][0-9]$ ]] || fail "node_version must be a major version such as 22, not \"$node_version\""
# Only dist/ is copied into the final image; the pattern also keeps sed safe.
[[ "$entrypoint" =~ ^dist/[A-Za-z0-9_./-]+$ && "$entrypoint" != *..* ]] ||
  fail "entrypoint must be a file under dist/, not \"$entrypoint\""

template="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)/../assets/Dockerfile.template"
[[ -f "$template" ]] || fail "template not found: $template"

write_new() {
  local target="$project_dir/$1"
  if [[ -e "$target" || -L "$target" ]]; then
    cat >/dev/null
    printf 'kept     %s (already there)\n' "$target"
  else
    cat >"$target"
    printf 'created  %s\n' "$target"
  fi
}

sed -e "s|{{NODE_VERSION}}|$node_version|g" \
  -e "s|{{PORT}}|$port|g" \
  -e "s|{{ENTRYPOINT}}|$entrypoint|g" \
  "$template" | write_new Dockerfile

write_new .dockerignore <<'EOF'
.git
node_modules
dist
coverage
.env*
*.log
Dockerfile
.dockerignore
EOF

if [[ ! -f "$project_dir/package-lock.json" ]]; then
  printf 'warning: no package-lock.json; the image build needs one (npm install --package-lock-only)\n' >&2
fi
