#!/usr/bin/env bash
# Creates src/auth in a React project. Existing files are left alone.
set -euo pipefail

usage() {
  cat >&2 <<'USAGE'
Usage: SKILL_ARG_PROJECT_DIR=<dir> [SKILL_ARG_PROVIDER=password|oidc] bash scaffold-auth.sh

  SKILL_ARG_PROJECT_DIR  root of the React project; must exist
  SKILL_ARG_PROVIDER     how users sign in (default: password)
USAGE
  exit 2
}

project_dir="${SKILL_ARG_PROJECT_DIR:-}"
provider="${SKILL_ARG_PROVIDER:-password}"

[[ -n "$project_dir" ]] || usage
if [[ ! -d "$project_dir" ]]; then
  printf 'error: no such directory: %s\n' "$project_dir" >&2
  exit 1
fi
case "$provider" in
  password | oidc) ;;
  *)
    printf 'error: provider must be password or oidc, not "%s"\n' "$provider" >&2
    exit 1
    ;;
esac

auth_dir="$project_dir/src/auth"
mkdir -p -- "$auth_dir"

# Writes standard input to the named file unless it exists already.
write_new() {
  local target="$auth_dir/$1"
  if [[ -e "$target" || -L "$target" ]]; then
    cat >/dev/null
    printf 'kept     %s (already there)\n' "$target"
  else
    cat >"$target"
    printf 'created  %s\n' "$target"
  fi
}

write_new auth-config.ts <<EOF
export type AuthConfig = {
  provider: "password" | "oidc";
  apiBaseUrl: string;
  credentials: "same-origin" | "include";
  sessionPath: string;
  loginPath: string;
  logoutPath: string;
  afterLoginPath: string;
  idleTimeoutMinutes: number;
};

// Data only: this file ends up in the browser bundle.
export const authConfig: AuthConfig = {
  provider: "$provider",
  apiBaseUrl: "/api",
  credentials: "same-origin",
  sessionPath: "/auth/session",
  loginPath: "/auth/login",
  logoutPath: "/auth/logout",
  afterLoginPath: "/home",
  idleTimeoutMinutes: 30,
};
EOF

write_new AuthContext.ts <<'EOF'
import { createContext, useContext } from "react";

export type User = { id: string; name: string; roles: readonly string[] };
export type Credentials = { username: string; password: string };

export type AuthState =
  | { status: "loading" }
  | { status: "anonymous" }
  | { status: "authenticated"; user: User }
  | { status: "unavailable" };

export type Auth = {
  state: AuthState;
  reload: () => Promise<void>;
  signIn: (credentials?: Credentials) => Promise<void>;
  signOut: () => Promise<void>;
};

export const AuthContext = createContext<Auth | null>(null);

export function useAuth(): Auth {
  const auth = useContext(AuthContext);
  if (auth === null) throw new Error("useAuth must be used inside <AuthProvider>");
  return auth;
}
EOF

write_new RequireAuth.tsx <<'EOF'
import type { ReactNode } from "react";

import { useAuth } from "./AuthContext";

type Props = { children: ReactNode; fallback: ReactNode };

/** Shows children to signed-in users, fallback (the login page) to others. */
export function RequireAuth({ children, fallback }: Props) {
  const { state, reload } = useAuth();
  switch (state.status) {
    case "loading":
      return <p role="status">Loading…</p>;
    case "unavailable":
      return (
        <div role="alert">
          <p>We cannot reach the server.</p>
          <button type="button" onClick={() => void reload()}>
            Try again
          </button>
        </div>
      );
    case "anonymous":
      return <>{fallback}</>;
    case "authenticated":
      return <>{children}</>;
  }
}
EOF

# The provider comes from the skill's template, present in a checkout only.
script="${BASH_SOURCE[0]:-}"
template=""
if [[ -n "$script" ]]; then
  template="$(dirname -- "$script")/../assets/AuthProvider.tsx.template"
fi
if [[ -n "$template" && -f "$template" ]]; then
  sed 's|{{CONFIG_MODULE}}|./auth-config|g' "$template" | write_new AuthProvider.tsx
else
  printf 'todo     write %s/AuthProvider.tsx from assets/AuthProvider.tsx.template\n' "$auth_dir"
fi
