import { describe } from 'vitest';
import { SLOW } from './slow.js';

const GIVEN = process.env['HOLDFAST_TEST_DOCKER_HOST'] ?? '';

/** Whether there is an engine to test on. */
export const hasDocker = GIVEN !== '';

/** The engine of the tests, as DOCKER_HOST has it; .ci/docker starts one and makes the images below. Where no one listens without one. */
export const DOCKER_HOST = hasDocker ? GIVEN : 'unix:///no/engine';

/** A shell and the small programs of busybox; its user 1000 owns /work. */
export const BUSYBOX = 'holdfast-test/busybox:1';
/** bash, coreutils, git, python3 and node. */
export const TOOLS = 'holdfast-test/tools:1';

const REQUIRED = (process.env['HOLDFAST_TEST_REQUIRE'] ?? '').split(',').includes('docker');
const WHY_NOT = 'HOLDFAST_TEST_DOCKER_HOST is not set: no container engine to test on (.ci/docker starts one)';

/** Runs a suite against a real container engine. A machine without one skips it with the reason, or fails where it is required. */
export function describeDocker(name: string, suite: () => void): void {
  if (hasDocker) describe(`${name} on docker`, suite);
  else if (REQUIRED) throw new Error(`${WHY_NOT}, and HOLDFAST_TEST_REQUIRE names it`);
  else describe.skip(`${name} on docker (${WHY_NOT})`, suite);
}

/** The same for a suite that takes long: HOLDFAST_TEST_SLOW=1 runs it, as CI does. */
export function describeDockerSlowly(name: string, suite: () => void): void {
  if (SLOW) describeDocker(name, suite);
  else describe.skip(`${name} (slow: HOLDFAST_TEST_SLOW=1 runs it)`, suite);
}
