import { HoldfastError } from './errors/errors.js';
import { isRecord } from './json.js';

/** A package that Holdfast loads when something first needs it, and that an application installs for it. */
export interface OptionalPackage {
  readonly name: string;
  /** The version that Holdfast is tested with, as in `peerDependencies`. */
  readonly version: string;
}

/** Speaks to container engines. */
export const CONTAINER_PACKAGE: OptionalPackage = { name: 'dockerode', version: '5.0.1' };

/** Merges documents of memory. */
export const MEMORY_PACKAGE: OptionalPackage = { name: 'loro-crdt', version: '1.17.1' };

export const installCommand = (packages: readonly OptionalPackage[]): string =>
  `npm install ${packages.map(({ name, version }) => `${name}@${version}`).join(' ')}`;

/** Why a package could not be loaded, to follow its name. */
export function whyNotLoaded(cause: unknown, { name }: OptionalPackage): string {
  const message = isRecord(cause) && typeof cause['message'] === 'string' ? cause['message'] : String(cause);
  const isMissing = isRecord(cause) && cause['code'] === 'ERR_MODULE_NOT_FOUND' && message.includes(`'${name}'`);
  return isMissing ? 'is not installed' : `cannot be loaded: ${message}`;
}

/** Loads a package that `what` needs. Throws `package_missing`, which names the package and the command that installs it. */
export async function loadPackage<T>(what: string, wanted: OptionalPackage, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    const message = `${what} the package ${wanted.name}, which ${whyNotLoaded(cause, wanted)}.`;
    throw new HoldfastError('package_missing', message, { hint: `Run \`${installCommand([wanted])}\`.`, cause });
  }
}
