"""The relay itself: health, information, settings, shutdown."""

from .operation import Operation, get, patch, post
from .scopes import ADMIN, WRITE

TAG = "Server"

OPERATIONS = (
    Operation("health", "Health check", "Whether the server is up and can debug.", by_relay="health", scopes=(),
        answer="server:Health", outcome="Server is healthy", routes=(get("/health", "getHealth"),)),
    Operation("server_info", "Server information", "Versions, what this relay can do, and every endpoint.",
        by_relay="info", scopes=(), answer="server:Info", routes=(get("/info", "getInfo"),)),
    Operation("get_config", "Get settings",
        "The settings in force: values, defaults, where each comes from, and whether it can be changed here.",
        by_relay="config", scopes=(ADMIN,), answer="server:Configuration",
        routes=(get("/config", "getConfig"),)),
    Operation("update_config", "Change settings",
        """Change settings while the relay runs: all that are given, or none.

        They last until it ends; with `persist` config.json has them for the next start as well. A setting that says
        which program runs (`default_python_path`) needs the scope sessions:write too.""",
        by_relay="update_config", scopes=(ADMIN,), takes="configuration:UpdateConfigRequest",
        answer="server:ConfigurationChanged", errors=("STORAGE_FAILED",),
        routes=(patch("/config", "updateConfig"),)),
    Operation("shutdown", "Shut down",
        """End the relay, after this answer: with all sessions and their programs, unless told to keep them.

        Requests that wait are answered first. The body may be left out.""",
        by_relay="shutdown", scopes=(ADMIN,), takes="configuration:ShutdownRequest", may_be_empty=True,
        answer="server:ShuttingDown", outcome="The relay is shutting down",
        routes=(post("/shutdown", "shutdown", status=202),)),
    Operation("sign_in", "Sign a browser in",
        """For the page of the relay itself: with a one-time code, or a token, the browser gets a cookie that stands for
        that token until it signs out, expires, or the token is revoked. Only requests of that page may use it.""",
        scopes=(), takes="signing_in:SignInRequest", answer="server:SignedIn", outcome="Signed in",
        routes=(post("/sign-in", "signIn"),)),
    Operation("sign_out", "Sign a browser out", "The cookie is good for nothing any more.", scopes=(),
        answer="server:SignedOut", outcome="Signed out", routes=(post("/sign-out", "signOut"),)),
    Operation("make_sign_in_code", "Make a code to sign in with",
        "A code that signs a browser in once, within ten minutes, with the scopes of the token of who asks for it.",
        scopes=(), answer="server:SignInCode", routes=(post("/sign-in-code", "makeSignInCode"),)),
    Operation("choose_programs", "Choose which programs run",
        "Part of `update_config`, where a setting says which program runs.", scopes=(ADMIN, WRITE)),
    Operation("docs", "Read the API's description",
        "The OpenAPI document, the page that shows it, and what the relay says of itself at / and /llms.txt.",
        scopes=()),
)
