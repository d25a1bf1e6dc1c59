import type { Settings } from '../../config.js';
import { CONTAINER_PACKAGE, loadPackage } from '../../core/optional-package.js';
import { DEFAULT_DOCKER_HOST } from '../../engine/containers/open-containers.js';
import { type Finding, fail, failed, ok } from './finding.js';

const CHECK = 'containers';
const WITHIN_MS = 10_000;

/** Whether the container engine answers and has the images that agents name. Where none names one and no engine is set, nothing is asked. */
export async function checkEngine(
  { dockerHost, dockerCertPath: certPath }: Pick<Settings, 'dockerHost' | 'dockerCertPath'>,
  images: readonly string[],
): Promise<readonly Finding[]> {
  if (dockerHost === null && images.length === 0) return [];
  const host = dockerHost ?? DEFAULT_DOCKER_HOST;
  try {
    const { lookAtEngine } = await loadPackage(
      'Containers need',
      CONTAINER_PACKAGE,
      () => import('../../containers/docker/look-at-engine.js'),
    );
    const { version, missing } = await lookAtEngine({ host, certPath }, images, AbortSignal.timeout(WITHIN_MS));
    if (missing.length === 0) return [ok(CHECK, `the engine at ${host} answers (version ${version})`)];
    const detail = `the engine at ${host} does not have ${missing.join(', ')}`;
    return [fail(CHECK, detail, 'Pull or build the images there: Holdfast pulls none.')];
  } catch (error) {
    return [failed(CHECK, error)];
  }
}
