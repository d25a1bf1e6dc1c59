import type { EngineAddress } from '../../core/containers/engine-address.js';
import type { EngineMachine } from '../../core/containers/environment.js';
import { architectureOf } from '../../core/containers/worker-offer.js';
import { EngineConnection } from './engine-connection.js';
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
  const { Version: version } = await engine.ask('asking for its version', signal, (docker) => docker.version());
  const missing: string[] = [];
  for (const image of images) if (!(await hasImage(engine, image, signal))) missing.push(image);
  return { version, missing };
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
