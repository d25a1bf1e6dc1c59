import { type EngineConnection, EngineRefusal, isRefusal } from './engine-connection.js';

/**
 * What engines mean by what they answer. Docker (20.10) says much by its status; Podman (4.3) by 500 and a sentence. All that
 * depends on such a sentence is here.
 */

const says = (error: unknown, sentence: RegExp): error is EngineRefusal =>
  error instanceof EngineRefusal && sentence.test(error.message);

/** Someone else has made a container of this name: 409, 500 of Podman. */
export const isNameTaken = (error: unknown): boolean => isRefusal(error, 409, 500) && says(error, /already in use/i);

/** Someone else has started, stopped, named or made it meanwhile: looking again says what came of it. */
export const isOvertaken = (error: unknown): boolean =>
  isRefusal(error, 304, 409) || isNameTaken(error) || says(error, /container state improper/i);

/** Podman refuses the second of two that make a volume at the same instant, where Docker gives both the same one. */
export const isVolumeMade = (error: unknown): boolean => says(error, /volume already exists/i);

export const isImageUnknown = (error: unknown): boolean =>
  isRefusal(error, 404) && says(error, /no such image|not found|image not known/i);

/** Podman takes a profile of system calls as a path of its machine alone, and repeats what it was sent. */
export const isAboutProfile = (error: unknown): boolean => says(error, /opening seccomp profile failed/i);

/** A bound of the root file system that the driver of the engine does not have. */
export const isAboutDisk = (error: unknown): boolean => says(error, /storage-opt|quota/i) && !isAboutProfile(error);

/** Podman gives what is in memory to root alone. */
export const isAboutOwner = (error: unknown): boolean => says(error, /mount option "?uid=/i);

/** A directory of this machine that the engine does not find on its own. */
export const isAboutMount = (error: unknown): boolean => says(error, /bind source path/i);

const STATUSES: { readonly [status: string]: string } = { initialized: 'created', stopped: 'exited' };

/** The state of a container in the words of Docker: Podman has two more, which it may stay in when it is killed. */
export const statusOf = ({ Status }: { readonly Status: string }): string => STATUSES[Status] ?? Status;

/**
 * What an engine says of a container whose place is held by something that it has forgotten when it was killed: by a task or by a
 * container of containerd. It says so forever.
 */
export const isHeld = (why: string): boolean => /\btask \w+: already exists|\bid already in use/i.test(why);

/**
 * Returns the id that an engine reports. Podman makes up another id for each answer: where its files are is the next best, and is as
 * unique as the names of machines are.
 */
export async function reportedId(engine: EngineConnection, signal: AbortSignal): Promise<string> {
  const info = (): Promise<{ readonly ID: string; readonly Name: string; readonly DockerRootDir: string }> =>
    engine.ask('asking for its name', signal, (docker) => docker.info());
  const [first, second] = [await info(), await info()];
  return first.ID === second.ID ? String(first.ID) : `${first.Name}:${first.DockerRootDir}`;
}
