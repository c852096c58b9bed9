"""The scopes that a token can have. No scope implies another, `admin` included."""

READ = "sessions:read"
WRITE = "sessions:write"
ARTIFACTS = "artifacts:read"
ADMIN = "admin"

ALL_SCOPES = (READ, WRITE, ARTIFACTS, ADMIN)
MEANINGS = {
    READ: "look at sessions, breakpoints, stacks and variables; runs no code of programs or debuggers",
    WRITE: "create, change and end sessions, run programs and code in them, attach, and connect debuggers",
    ARTIFACTS: "read what programs wrote; with sessions:read",
    ADMIN: "see and change the relay's settings, and shut it down",
}
