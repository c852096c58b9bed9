"""Routes of named sets of breakpoints."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path
from starlette.requests import Request
from starlette.responses import Response

from ..models.envelope import to_json
from ..models.profiles import (
    NAME_PATTERN,
    ApplyProfileRequest,
    Profile,
    ProfileApplied,
    ProfileDeleted,
    ProfileList,
    ReplaceProfileRequest,
    SaveProfileRequest,
)
from .answers import BODY, SESSION, STATE, answers, enveloped, relay_of
from .breakpoints import REFUSED
from .parameters import tagged

router = tagged("Breakpoint Profiles")

Name = Annotated[str, Path(description="Name of the profile.", pattern=NAME_PATTERN, examples=["checkout-bug"])]
UNREADABLE = ("PROFILE_NOT_FOUND", "PROFILE_UNREADABLE")
SAVED = (*BODY, *SESSION, *STATE, "BREAKPOINT_INVALID_CONDITION", "PROFILE_UNREADABLE")


@router.get(
    "/breakpoint-profiles",
    operation_id="listBreakpointProfiles",
    summary="List profiles",
    responses=answers(ProfileList),
)
async def list_profiles(request: Request) -> Response:
    """Every saved set of breakpoints."""
    return enveloped(to_json(await relay_of(request).profiles.listed()))


@router.post(
    "/breakpoint-profiles",
    operation_id="saveBreakpointProfile",
    summary="Save profile",
    status_code=201,
    responses=answers(Profile, *SAVED, "PROFILE_EXISTS", status=201, description="Profile saved"),
)
async def save_profile(request: Request, body: SaveProfileRequest) -> Response:
    """Save the breakpoints of a session, or given ones, under a new name."""
    return enveloped(to_json(await relay_of(request).profiles.save(body.name, body.wishes(), False)), 201)


@router.get(
    "/breakpoint-profiles/{name}",
    operation_id="getBreakpointProfile",
    summary="Get profile",
    responses=answers(Profile, *UNREADABLE),
)
async def get_profile(request: Request, name: Name) -> Response:
    """All of one profile."""
    return enveloped(to_json(await relay_of(request).profiles.get(name)))


@router.put(
    "/breakpoint-profiles/{name}",
    operation_id="replaceBreakpointProfile",
    summary="Save or replace profile",
    responses=answers(Profile, *SAVED),
)
async def replace_profile(request: Request, name: Name, body: ReplaceProfileRequest) -> Response:
    """The same, whether or not there is one of that name."""
    return enveloped(to_json(await relay_of(request).profiles.save(name, body.wishes(), True)))


@router.post(
    "/breakpoint-profiles/{name}/apply",
    operation_id="applyBreakpointProfile",
    summary="Apply profile",
    responses=answers(ProfileApplied, *BODY, *SESSION, *STATE, *UNREADABLE, *REFUSED),
)
async def apply_profile(request: Request, name: Name, body: ApplyProfileRequest) -> Response:
    """Set its breakpoints in a session, all of them or none. Relative paths belong to the session's project_root."""
    return enveloped(to_json(await relay_of(request).profiles.apply(name, body.session_id, body.replace)))


@router.delete(
    "/breakpoint-profiles/{name}",
    operation_id="deleteBreakpointProfile",
    summary="Delete profile",
    responses=answers(ProfileDeleted, "PROFILE_NOT_FOUND", "STORAGE_FAILED"),
)
async def delete_profile(request: Request, name: Name) -> Response:
    """Forget a profile. Sessions keep what it set in them."""
    return enveloped(to_json(await relay_of(request).profiles.delete(name)))
