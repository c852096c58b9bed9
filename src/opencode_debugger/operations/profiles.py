"""Named sets of breakpoints."""

from .operation import REFUSED_BREAKPOINT, SESSION, STATE, UNREADABLE_PROFILE, Operation, delete, get, post, put
from .scopes import READ, WRITE

TAG = "Breakpoint Profiles"

OPERATIONS = (
    Operation("list_profiles", "List profiles", "Every saved set of breakpoints.", by_relay="profiles.listed",
        scopes=(READ,), answer="breakpoints:ProfileList",
        routes=(get("/breakpoint-profiles", "listBreakpointProfiles"),)),
    Operation("get_profile", "Get profile", "All of one profile.", by_relay="profiles.get", scopes=(READ,),
        answer="breakpoints:Profile", errors=UNREADABLE_PROFILE,
        routes=(get("/breakpoint-profiles/{name}", "getBreakpointProfile"),)),
    Operation("save_profile", "Save profile", "Save the breakpoints of a session, or given ones, under a new name.",
        by_relay="profiles.save", scopes=(WRITE,), takes="breakpoints:SaveProfileRequest", answer="breakpoints:Profile",
        outcome="Profile saved",
        errors=(*SESSION, *STATE, "BREAKPOINT_INVALID_CONDITION", "PROFILE_UNREADABLE", "PROFILE_EXISTS"),
        routes=(
            post("/breakpoint-profiles", "saveBreakpointProfile", status=201),
            put("/breakpoint-profiles/{name}", "replaceBreakpointProfile", takes="breakpoints:ReplaceProfileRequest",
                summary="Save or replace profile",
                errors=(*SESSION, *STATE, "BREAKPOINT_INVALID_CONDITION", "PROFILE_UNREADABLE"),
                description="The same, whether or not there is one of that name."),
        )),
    Operation("apply_profile", "Apply profile",
        "Set its breakpoints in a session, all of them or none. Relative paths belong to the session's project_root.",
        by_relay="profiles.apply", scopes=(WRITE,), takes="breakpoints:ApplyProfileRequest",
        answer="breakpoints:ProfileApplied", errors=(*SESSION, *STATE, *UNREADABLE_PROFILE, *REFUSED_BREAKPOINT),
        routes=(post("/breakpoint-profiles/{name}/apply", "applyBreakpointProfile"),)),
    Operation("delete_profile", "Delete profile", "Forget a profile. Sessions keep what it set in them.",
        by_relay="profiles.delete", scopes=(WRITE,), answer="breakpoints:ProfileDeleted",
        errors=("PROFILE_NOT_FOUND", "STORAGE_FAILED"),
        routes=(delete("/breakpoint-profiles/{name}", "deleteBreakpointProfile"),)),
)
