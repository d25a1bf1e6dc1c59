import { EngineConnection } from './engine-connection.js';
import { hasImage } from './inspect.js';

export interface EngineLook {
  readonly version: string;
  /** Of the images that were asked for, those that it does not have. */
  readonly missing: readonly string[];
}

/** Asks an engine once who it is and which images it has. Throws `engine_unreachable`. */
export async function lookAtEngine(host: string, images: readonly string[], signal: AbortSignal): Promise<EngineLook> {
  const engine = new EngineConnection(host, 0);
  const { Version: version } = await engine.ask('asking for its version', signal, (docker) => docker.version());
  const missing: string[] = [];
  for (const image of images) if (!(await hasImage(engine, image, signal))) missing.push(image);
  return { version, missing };
}
