"""The one settings module. Every choice an operator has is an environment variable, read by `env` and listed in README.

Must not hold policy: what compaction does by default stands in the engine, once, with its reasons.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from hermes_site import env
from hermes_site.log_lines import logging_settings
from hermes_site.outbound import outbound_rules
from hermes_site.secret_key import load_or_create_secret_key
from hermes_site.secrets_keys import secrets_keys
from hermes_site.site_policy import site_policy

BASE_DIR = Path(__file__).resolve().parent.parent
# Everything the site writes beside the database of an operator's own: secret key, embedded database, uploads.
VAR_DIR = env.folder("HERMES_SITE_VAR_DIR", BASE_DIR / "var")

DEBUG = env.boolean("HERMES_SITE_DEBUG", False)
SECRET_KEY = env.text("HERMES_SITE_SECRET_KEY") or load_or_create_secret_key(VAR_DIR / "secret_key")
ALLOWED_HOSTS = list(env.words("HERMES_SITE_ALLOWED_HOSTS", ("localhost", "127.0.0.1", "[::1]")))
CSRF_TRUSTED_ORIGINS = list(env.words("HERMES_SITE_TRUSTED_ORIGINS"))

INSTALLED_APPS = [
    "hermes_site",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.postgres",
    "django.contrib.staticfiles",
    "channels",
    "csp",
    "django_htmx",
    # Its page of the API takes scripts and styles from here instead of from another host.
    "ninja",
    "procrastinate.contrib.django",
    "sessions_app",
]

MIDDLEWARE = [
    "hermes_site.connections.release_when_answered",
    "django.middleware.security.SecurityMiddleware",
    "hermes_site.compression.CompressionMiddleware",
    "csp.middleware.CSPMiddleware",
    "hermes_site.static_files.StaticFilesMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "sessions_app.languages.ReaderLanguageMiddleware",
    "sessions_app.reader_zone.reader_zone",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "hermes_site.login.lifetime.LoginLifetimeMiddleware",
    # Deny by default: a view open to strangers says so with @login_not_required.
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "hermes_site.urls"
ASGI_APPLICATION = "hermes_site.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

DATABASE_ADDRESS = env.database_address("DATABASE_URL")
DATABASE_POOL: dict[str, Any] = {
    "min_size": 1,
    "max_size": env.integer("HERMES_SITE_POOL_MAX_SIZE", 10, 1, 500),
    # A request that waits longer than this for a connection is better told so than kept.
    "timeout": 10,
}
# Without an address of the operator's the site runs a PostgreSQL server of its own (hermes_site.postgres).
EMBEDDED_POSTGRES_HOME = VAR_DIR / "postgres"
EMBEDDED_POSTGRES_PROGRAMS = env.word_or_folder("HERMES_SITE_POSTGRES", "any", ("any", "local", "wheel"))
EMBEDDED_POSTGRES_IS_DURABLE = True  # The tests throw their data away and switch this off.
DATABASES: dict[str, dict[str, Any]] = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": DATABASE_ADDRESS.name,
        "USER": DATABASE_ADDRESS.user,
        "PASSWORD": DATABASE_ADDRESS.password,
        "HOST": DATABASE_ADDRESS.host,
        "PORT": DATABASE_ADDRESS.port,
        "OPTIONS": {"pool": DATABASE_POOL, **dict(DATABASE_ADDRESS.options)},
    }
    if DATABASE_ADDRESS
    else {"ENGINE": "hermes_site.postgres.backend", "NAME": "hermes_sessions", "OPTIONS": {"pool": DATABASE_POOL}}
}
DATABASES["default"] |= {
    # Services own their transactions (docs/decisions); a request is never one big transaction.
    "ATOMIC_REQUESTS": False,
    "CONN_MAX_AGE": 0,
    # The pool tests a connection before it lends it, so a restarted database costs one retry and no error page.
    "CONN_HEALTH_CHECKS": True,
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

PROCRASTINATE_IMPORT_PATHS = ["sessions_app.jobs"]
# The queue also wakes the worker by a notification; looking this often covers a lost one.
PROCRASTINATE_WORKER_DEFAULTS = {
    "concurrency": env.integer("HERMES_SITE_WORKER_CONCURRENCY", 2, 1, 100),
    "fetch_job_polling_interval": 0.2,
    "abort_job_polling_interval": 0.2,
    "shutdown_graceful_timeout": 5.0,
}

CHANNEL_REDIS_URL = env.redis_url("CHANNEL_REDIS_URL")
if CHANNEL_REDIS_URL is not None and find_spec("channels_redis") is None:
    raise ImproperlyConfigured("CHANNEL_REDIS_URL needs a package that is missing: pip install channels-redis==4.3.0")
CHANNEL_LAYERS: dict[str, dict[str, Any]] = {
    "default": {"BACKEND": "sessions_app.fan_out.ProcessLayer"}
    if CHANNEL_REDIS_URL is None
    else {"BACKEND": "channels_redis.core.RedisChannelLayer", "CONFIG": {"hosts": [CHANNEL_REDIS_URL]}}
}

# What the operator sets for all projects, as blocks of a YAML file.
SITE_POLICY = site_policy()

# Where models may be asked, and with which keys.
OUTBOUND_RULES = outbound_rules()

# With what the keys that projects store are encrypted; without it none can be stored.
SECRETS_KEYS = secrets_keys()

# The API: how large a body may be, and how many requests a token may make. Forms with files have no such limit.
DATA_UPLOAD_MAX_MEMORY_SIZE = env.integer("HERMES_SITE_API_MAX_BODY_BYTES", 16 * 2**20, 2**16, 2**30)
API_REQUESTS_A_MINUTE = env.integer("HERMES_SITE_API_REQUESTS_A_MINUTE", 1_200, 1, 1_000_000)

# Sessions of browsers are kept with whose they are (sessions_app.models.logins), so that people can end theirs.
SESSION_ENGINE = "hermes_site.login.sessions"
# A login ends when nothing is asked for so long, and in any case after so many days.
SESSION_COOKIE_AGE = 60 * env.integer("HERMES_SITE_LOGIN_IDLE_MINUTES", 3 * 24 * 60, 1, 365 * 24 * 60)
LOGIN_MOST_SECONDS = 24 * 3600 * env.integer("HERMES_SITE_LOGIN_MAX_DAYS", 30, 1, 365)

LOGIN_URL = "/login/"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/login/"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "manifest-src": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
        "object-src": [NONE],
    }
}
X_FRAME_OPTIONS = "DENY"
DEFAULT_EXCEPTION_REPORTER_FILTER = "hermes_site.error_pages.HidingFilter"
SECURE_REFERRER_POLICY = "same-origin"
# Behind TLS the cookies travel over TLS only; a local site on plain HTTP would lose its login.
BEHIND_TLS = env.boolean("HERMES_SITE_BEHIND_TLS", False)
SESSION_COOKIE_SECURE = BEHIND_TLS
CSRF_COOKIE_SECURE = BEHIND_TLS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if BEHIND_TLS else None
# Plain HTTP is sent on to HTTPS, but for the health check, which watchers ask on the machine itself.
SECURE_SSL_REDIRECT = env.boolean("HERMES_SITE_TLS_REDIRECT", BEHIND_TLS)
SECURE_REDIRECT_EXEMPT = [r"^healthz$"]
# Browsers then refuse plain HTTP for so long. It binds this name; other names below it are the operator's to decide.
SECURE_HSTS_SECONDS = env.integer("HERMES_SITE_HSTS_SECONDS", 3600 * 24 * 30 if BEHIND_TLS else 0, 0, 3600 * 24 * 730)
SECURE_HSTS_INCLUDE_SUBDOMAINS = env.boolean("HERMES_SITE_HSTS_SUBDOMAINS", False)
SECURE_HSTS_PRELOAD = env.boolean("HERMES_SITE_HSTS_PRELOAD", False)
# These two ask for other names than ours to be bound too (docs/security.md).
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
SESSION_COOKIE_NAME = "hermes_sessions_login"
CSRF_COOKIE_NAME = "hermes_sessions_csrf"

LANGUAGE_CODE = "en"
# Each by its own name, for those who can't read the others.
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LANGUAGE_COOKIE_NAME = "hermes_sessions_language"
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = env.time_zone("HERMES_SITE_TIME_ZONE", "UTC")
USE_I18N = True
USE_TZ = True

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
# The files are served from where they lie: no collecting step between a checkout and a page.
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG
WHITENOISE_ALLOW_ALL_ORIGINS = False

LOGGING = logging_settings(
    env.word("HERMES_SITE_LOG_FORMAT", "line", ("line", "json")),
    env.word("HERMES_SITE_LOG_LEVEL", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR")),
)
