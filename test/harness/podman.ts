import { describe } from 'vitest';

const GIVEN = process.env['HOLDFAST_TEST_PODMAN_HOST'] ?? '';

/** A service of Podman, as DOCKER_HOST has it; .ci/podman starts one and makes the images of the other engine. */
export const PODMAN_HOST = GIVEN === '' ? 'unix:///no/engine' : GIVEN;

const REQUIRED = (process.env['HOLDFAST_TEST_REQUIRE'] ?? '').split(',').includes('podman');
const WHY_NOT = 'HOLDFAST_TEST_PODMAN_HOST is not set: no Podman to test on (.ci/podman starts one)';

/** Runs a suite against Podman. A machine without it skips it with the reason, or fails where it is required. */
export function describePodman(name: string, suite: () => void): void {
  if (GIVEN !== '') describe(`${name} on podman`, suite);
  else if (REQUIRED) throw new Error(`${WHY_NOT}, and HOLDFAST_TEST_REQUIRE names it`);
  else describe.skip(`${name} on podman (${WHY_NOT})`, suite);
}
