"""Every operation, declared once: what it takes and answers, when and to whom it is allowed, and how doors spell it.

Routes, WebSocket actions, the checks of states and scopes, the runner's dispatch and the API's description are made
from these declarations. To add an operation, declare it in the module of its subject and write the function that it
names. Nothing here imports pydantic or the web framework: models of parameters and answers are named, and doors look
them up."""
