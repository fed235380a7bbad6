"""Django's own admin over Django's own models, in one file. Needs django>=5.2,<6. Usage: python app.py PORT

ADMIN_DB: where the database is (else a file beside this one). ADMIN_REQUESTS: a file that gets a line for each request that reached Django.
The superuser is admin; the agent works as clerk, who holds more rights than the work needs, as clerks do: what keeps them apart is the policy.
"""

import os
import shutil
import signal
import sys
from pathlib import Path

import django
from ask import database, fresh
from django.conf import settings

HERE = Path(__file__).parent
APPS = "admin auth contenttypes sessions messages staticfiles sites flatpages redirects"
MIDDLEWARE = [
    f"{__name__}.log_request",
    "django.contrib.sessions.middleware.SessionMiddleware", "django.middleware.common.CommonMiddleware", "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware", "django.contrib.messages.middleware.MessageMiddleware",
]
PROCESSORS = ["django.template.context_processors.request", "django.contrib.auth.context_processors.auth", "django.contrib.messages.context_processors.messages"]

settings.configure(
    DEBUG=True, SECRET_KEY="only an example " * 4, ALLOWED_HOSTS=["127.0.0.1"], ROOT_URLCONF=__name__, SITE_ID=1, USE_TZ=True, STATIC_URL="/static/",
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField", MIDDLEWARE=MIDDLEWARE, INSTALLED_APPS=[f"django.contrib.{name}" for name in APPS.split()],
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True, "OPTIONS": {"context_processors": PROCESSORS}}],
    SESSION_ENGINE="django.contrib.sessions.backends.signed_cookies",  # so that a reset of the database logs nobody out
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": database()}},
)
django.setup()

from django.contrib import admin  # noqa: E402 - the admin can only be imported once Django is set up
from django.urls import path  # noqa: E402

urlpatterns = [path("admin/", admin.site.urls)]


def log_request(get_response):
    """What reached the server, told by the server. The line is written before anything is done about the request."""

    def middleware(request):
        if log := os.environ.get("ADMIN_REQUESTS"):
            with Path(log).open("a") as file:
                file.write(f"{request.method} {request.get_full_path()}\n")
        return get_response(request)

    return middleware


def fill() -> None:
    from django.contrib.auth.hashers import make_password
    from django.contrib.auth.models import Group, Permission, User
    from django.contrib.flatpages.models import FlatPage
    from django.contrib.redirects.models import Redirect

    User.objects.create_superuser("admin", "admin@example.test")
    clerk = User.objects.create_user("clerk", "clerk@example.test", (HERE / "clerk-password.txt").read_text().strip(), is_staff=True)
    clerk.user_permissions.set(Permission.objects.filter(content_type__app_label__in=["auth", "flatpages", "redirects"]))
    password = make_password("known to nobody here")
    for name in ("alice", "bob", "carol", "dave"):
        User.objects.create(username=name, email=f"{name}@example.test", first_name=name.title(), password=password)
    for name in ("Editors", "Billing"):
        Group.objects.create(name=name)
    FlatPage.objects.create(url="/about/", title="About us", content="<p>We sell lamps.</p>")
    Redirect.objects.create(site_id=1, old_path="/old/", new_path="/about/")


def serve(port: int) -> None:
    """The database is made anew, and kept once more as it was for reset.py. Both go with the server, unless ADMIN_DB says where they belong."""
    from django.core.management import call_command

    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    database().parent.mkdir(exist_ok=True)
    database().unlink(missing_ok=True)
    try:
        call_command("migrate", verbosity=0)
        fill()
        shutil.copy(database(), fresh())
        call_command("runserver", f"127.0.0.1:{port}", use_reloader=False, skip_checks=True)
    finally:
        if "ADMIN_DB" not in os.environ:
            database().unlink()
            fresh().unlink()


if __name__ == "__main__":
    serve(int(sys.argv[1]))
