"""The request with which a browser signs in."""

from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator

from ..fields import optional, problem
from .base import RequestModel, one_given

Secret = Annotated[str, Field(min_length=1, max_length=500)]


class SignInRequest(RequestModel):
    model_config = ConfigDict(json_schema_extra={
        "examples": [{"code": "q1JxA7…"}], "oneOf": one_given("code", "token")})

    code: Secret | None = optional("Code of the address that `serve` or `ocdb open` has given.")
    token: Secret | None = optional("A token of this relay.")

    @model_validator(mode="after")
    def one_of_both(self) -> Self:
        if (self.code is None) == (self.token is None):
            raise problem("Give code or token, one of them", "code")
        return self
