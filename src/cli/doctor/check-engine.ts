import type { Settings } from '../../config.js';
import { assertImageAllowed, type ImagePolicyConfig, imagePolicy } from '../../core/containers/image-policy.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { CONTAINER_PACKAGE, loadPackage } from '../../core/optional-package.js';
import { DEFAULT_DOCKER_HOST } from '../../engine/containers/open-containers.js';
import { type Finding, fail, failed, ok } from './finding.js';

const CHECK = 'containers';
const WITHIN_MS = 10_000;

/** What agents name, and how it comes to the engine. */
export interface WantedImages {
  readonly images: readonly string[];
  readonly policy: ImagePolicyConfig | undefined;
}

/**
 * Whether the container engine answers, and has or may pull the images that agents name. Where none names one and no engine is set, nothing
 * is asked; nor in a process that only serves.
 */
export async function checkEngine(
  { dockerHost, dockerCertPath: certPath, role }: Pick<Settings, 'dockerHost' | 'dockerCertPath' | 'role'>,
  { images, policy: given }: WantedImages,
): Promise<readonly Finding[]> {
  if (role === 'api' || (dockerHost === null && images.length === 0)) return [];
  const host = dockerHost ?? DEFAULT_DOCKER_HOST;
  try {
    const { lookAtEngine } = await loadPackage(
      'Containers need',
      CONTAINER_PACKAGE,
      () => import('../../containers/docker/look-at-engine.js'),
    );
    const policy = imagePolicy.parse(given ?? {});
    const refused = [...images, ...policy.ahead].flatMap((image) => {
      const error = refusalOf(() => assertImageAllowed(image, policy));
      return error === null ? [] : [failed(CHECK, error)];
    });
    const { version, missing } = await lookAtEngine({ host, certPath }, images, AbortSignal.timeout(WITHIN_MS));
    const answers = `the engine at ${host} answers (version ${version})`;
    const lacks = `the engine at ${host} does not have ${missing.join(', ')}`;
    if (missing.length === 0) return [ok(CHECK, answers), ...refused];
    if (policy.pull !== 'never') return [ok(CHECK, `${answers}; it pulls ${missing.join(', ')} for a run`), ...refused];
    const wayOut = 'Pull or build the images there, or set `imagePolicy.pull`: Holdfast pulls none by default.';
    return [fail(CHECK, lacks, wayOut), ...refused];
  } catch (error) {
    return [failed(CHECK, error)];
  }
}

function refusalOf(assert: () => void): HoldfastError | null {
  try {
    assert();
    return null;
  } catch (error) {
    if (error instanceof HoldfastError) return error;
    throw error;
  }
}
