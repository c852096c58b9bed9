"""How a browser signs in: with a one-time code or a token, for a cookie that only our own page can use."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from ...answers.server import SignedIn, SignedOut, SignInCode
from ...auth.access import Access, Caller
from ...auth.guard import Guard
from ...auth.sign_ins import SIGN_IN_SECONDS, cookie_value, set_cookie
from ...auth.tokens import hash_of
from ...errors import RelayError
from ...models.envelope import to_json
from ...timestamps import whole_seconds
from .answer_form import AnswerForm
from .responses import formed_response

NOT_THE_PAGE = "Browsers sign in from the page of the relay itself; other clients send a token with each request"


async def sign_in(request: Request, form: AnswerForm, params: dict[str, Any]) -> Response:
    guard = guard_of(request)
    access: Access = guard.access
    if not access.is_required:
        return formed_response(form, "sign_in", to_json(SignedIn(is_required=False, scopes=[], expires_at=None)))
    if not guard.is_from_page(request.scope, dict(request.scope["headers"])):
        raise RelayError("ORIGIN_NOT_ALLOWED", NOT_THE_PAGE, suggestion="Send the header Authorization: Bearer TOKEN")
    code, token = params.get("code"), params.get("token")
    token_hash = access.sign_ins.take_code(code) if code is not None else hash_of(token.strip() if token else "")
    scopes = sorted(Caller(access, token_hash).scopes)
    id, expires_at = access.sign_ins.sign_in(token_hash)
    answer = formed_response(
        form, "sign_in", to_json(SignedIn(is_required=True, scopes=scopes, expires_at=whole_seconds(expires_at))))
    return with_cookie(answer, request, id, SIGN_IN_SECONDS)


async def sign_out(request: Request, form: AnswerForm, params: dict[str, Any]) -> Response:
    guard = guard_of(request)
    given = cookie_value(request.headers.get("cookie", "").encode("latin-1"), guard.cookie_name(request.scope))
    guard.access.sign_ins.sign_out(hash_of(given))
    return with_cookie(formed_response(form, "sign_out", to_json(SignedOut(signed_out=True))), request, "", 0)


async def make_code(request: Request, form: AnswerForm, params: dict[str, Any]) -> Response:
    access: Access = request.app.state.access
    told = SignInCode(code=None, expires_at=None)
    if access.is_required:
        code, expires_at = access.sign_ins.make_code(request.scope["caller"].identity)
        told = SignInCode(code=code, expires_at=whole_seconds(expires_at))
    return formed_response(form, "make_sign_in_code", to_json(told))


def guard_of(request: Request) -> Guard:
    """Return the guard that let a request in; there is none for what other doors ask for in this process."""
    guard: Guard | None = request.scope.get("guard")
    if guard is None:
        raise RelayError("NOT_SUPPORTED", "Only browsers sign in", suggestion=NOT_THE_PAGE)
    return guard


def with_cookie(answer: Response, request: Request, id: str, seconds: float) -> Response:
    guard = guard_of(request)
    cookie = set_cookie(guard.cookie_name(request.scope), id, seconds, guard.is_tls)
    answer.raw_headers.append((b"set-cookie", cookie))
    return answer
