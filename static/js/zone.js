// The reader's time zone: told to the server by a cookie, because pages are written there. A page that was written in
// another zone is read once more.

const NAME = "hermes_sessions_zone";
const DAYS_KEPT = 400;

const isKept = (zone) => document.cookie.split("; ").includes(`${NAME}=${zone}`);

export function startZone() {
  const { zone: written, mayReload } = document.documentElement.dataset;
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (!own || own === written || isKept(own)) return;
  const secure = location.protocol === "https:" ? "; secure" : "";
  document.cookie = `${NAME}=${own}; path=/; max-age=${DAYS_KEPT * 86400}; samesite=lax${secure}`;
  if (isKept(own) && mayReload !== undefined && document.querySelector("time")) location.reload();
}
