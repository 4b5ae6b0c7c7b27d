export type AuthConfig = {
  /** How users prove who they are. */
  provider: "password" | "oidc";
  /** Where the API lives: a path on this origin (preferred) or an https URL. */
  apiBaseUrl: string;
  /** "same-origin" for a path, "include" when the API is on another origin. */
  credentials: "same-origin" | "include";
  /** GET: answers 200 with the user, or 401. */
  sessionPath: string;
  /** POST for "password", browser navigation for "oidc". */
  loginPath: string;
  /** POST: ends the session on the server. */
  logoutPath: string;
  /** Where the login page goes afterwards; a page of this application. */
  afterLoginPath: string;
  /** Idle limit the API enforces, 5 to 1440; the UI uses it to warn in time. */
  idleTimeoutMinutes: number;
};

// Data only: no imports, no environment lookups, no secrets. The whole file ends
// up in the browser bundle.
export const authConfig: AuthConfig = {
  provider: "password",
  apiBaseUrl: "/api",
  credentials: "same-origin",
  sessionPath: "/auth/session",
  loginPath: "/auth/login",
  logoutPath: "/auth/logout",
  afterLoginPath: "/home",
  idleTimeoutMinutes: 30,
};
