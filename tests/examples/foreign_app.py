"""A stranger's application: starlette-admin over one table, behind its own login form. Not started by DeskCert. Usage: python foreign_app.py DATABASE

Takes a free port and prints its address. The password is in FOREIGN_PASSWORD; the file FOREIGN_LOG gets a line for each request that arrived.
"""

import os
import socket
import sys
from pathlib import Path

import uvicorn
from sqlalchemy import String, create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette_admin.auth import AdminUser, AuthProvider, LoginFailed
from starlette_admin.contrib.sqla import Admin, ModelView

PASSWORD = os.environ["FOREIGN_PASSWORD"]
LOG = Path(os.environ["FOREIGN_LOG"]).open("a", buffering=1)  # noqa: SIM115 - open as long as the application runs


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True)
    customer: Mapped[str] = mapped_column(String(100))
    lamps: Mapped[int]


class OneUser(AuthProvider):
    async def login(self, username, password, remember_me, request):
        if (username, password) != ("clerk", PASSWORD):
            raise LoginFailed("Wrong user or password")
        request.session["user"] = username

    async def authenticate(self, request):
        return AdminUser(username=request.session["user"]) if "user" in request.session else None

    async def logout(self, request):
        request.session.clear()


class Telling:
    """Writes down what arrived."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        if scope["type"] == "http":
            print(scope["method"], scope["path"], file=LOG)
        await self.app(scope, receive, send)


def application(database: str) -> Starlette:
    engine = create_engine(f"sqlite:///{database}")
    Base.metadata.create_all(engine)
    key = os.urandom(16).hex()
    app = Starlette(middleware=[Middleware(Telling)])
    sessions = Middleware(SessionMiddleware, secret_key=key)
    admin = Admin(engine, title="Lamps", auth_provider=OneUser(), middlewares=[sessions], secret_key=key)
    admin.add_view(ModelView(Order))
    admin.mount_to(app)
    return app


if __name__ == "__main__":
    with socket.create_server(("127.0.0.1", 0)) as listening:
        print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
        uvicorn.Server(uvicorn.Config(application(sys.argv[1]), log_level="warning")).run(sockets=[listening])
