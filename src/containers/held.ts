/**
 * What an engine says of a container whose place is held by something that it has forgotten when it was killed: by a task or by a
 * container of containerd. It says so for ever.
 */
export const isHeld = (why: string): boolean => /\btask \w+: already exists|\bid already in use/i.test(why);
