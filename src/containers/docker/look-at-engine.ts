import type { EngineAddress } from '../../core/containers/engine-address.js';
import type { EngineMachine } from '../../core/containers/environment.js';
import { architectureOf } from '../../core/containers/worker-offer.js';
import { EngineConnection, EngineRefusal } from './engine-connection.js';
import { hasImage } from './inspect.js';

export interface EngineLook {
  readonly version: string;
  /** Of the images that were asked for, those that it does not have. */
  readonly missing: readonly string[];
}

/** Asks an engine once who it is and which images it has. Throws `engine_unreachable`. */
export async function lookAtEngine(
  address: EngineAddress,
  images: readonly string[],
  signal: AbortSignal,
): Promise<EngineLook> {
  const engine = new EngineConnection(address, 0);
  try {
    const version = await versionOf(engine, signal);
    const missing: string[] = [];
    for (const image of images) if (!(await hasImage(engine, image, signal))) missing.push(image);
    return { version, missing };
  } finally {
    // Kept, each look would leave a connection, and by SSH a program.
    engine.close();
  }
}

/** Throws `engine_unreachable`, also for what answers as no engine does. */
export async function versionOf(engine: EngineConnection, signal: AbortSignal): Promise<string> {
  const what = 'asking for its version';
  try {
    const found = await engine.ask(what, signal, (docker) => docker.version());
    if (typeof found.Version === 'string') return found.Version;
  } catch (error) {
    throw error instanceof EngineRefusal ? engine.away(what, error) : error;
  }
  throw engine.away(what, new Error('what answers there is no container engine'));
}

const MEGABYTE = 1024 * 1024;

/** What the machine of an engine has. Throws `engine_unreachable`. */
export async function machineOfEngine(engine: EngineConnection, signal: AbortSignal): Promise<EngineMachine> {
  const info: { readonly NCPU: number; readonly MemTotal: number; readonly Architecture: string } = await engine.ask(
    'asking for its machine',
    signal,
    (docker) => docker.info(),
  );
  const { NCPU: cpuCores, MemTotal: bytes, Architecture: machine } = info;
  return { cpuCores, memoryMb: Math.floor(bytes / MEGABYTE), architecture: architectureOf(machine) };
}
