/** What the source view that is on the screen can do for keys that are pressed elsewhere; it fills this in. */
export const sourceActions = {};
