import type { EnvironmentIdentity } from '../../core/containers/environment.js';
import type { EnvironmentSpec } from '../../core/containers/environment-spec.js';

/**
 * Users of a container that judges. Each is a number that no image needs to know: what one of them owns, the others cannot change,
 * and none can signal another. None has a capability.
 */

const TESTERS = [65_534, 61_534] as const;
const KEEPERS = [61_533, 61_532] as const;

const uidOf = ({ user }: EnvironmentSpec): number => Number(user.split(':')[0]);

const other = (spec: EnvironmentSpec, [first, second]: readonly [number, number]): number =>
  uidOf(spec) === first ? second : first;

/** Runs tests, and owns their files. Its group may read and write the copy of the workspace. */
export const testerOf = (spec: EnvironmentSpec): string => {
  const uid = other(spec, TESTERS);
  return `${uid}:${uid}`;
};

export const testerGroupOf = (spec: EnvironmentSpec): number => other(spec, TESTERS);

/** Keeps what commands print, and is the main process: nothing that an agent wrote runs as this user. */
export const keeperOf = (spec: EnvironmentSpec): string => {
  const uid = other(spec, KEEPERS);
  return `${uid}:${uid}`;
};

/** The user of the main process. A main process of the task's own is the agent's; where it is judged the container has none. */
export const mainUserOf = ({ spec, purpose }: Pick<EnvironmentIdentity, 'spec' | 'purpose'>): string =>
  spec.command === null || purpose === 'verification' ? keeperOf(spec) : spec.user;
