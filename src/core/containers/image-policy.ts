import { z } from 'zod';
import { HoldfastError } from '../errors/errors.js';

/** Which images containers are made of, and whether the engine fetches them. */
export const imagePolicy = z.strictObject({
  /** `never`: the engine has the image. `missing`: it is pulled if the engine lacks it. `always`: before each new container of a run. */
  pull: z.enum(['never', 'missing', 'always']).default('never'),
  /** Registries whose images are allowed, as `ghcr.io` or `registry.example:5000`. Unset: all. */
  registries: z
    .array(
      z
        .string()
        .max(260)
        .regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?$/, 'is no host such as ghcr.io or registry.example:5000'),
    )
    .min(1)
    .max(100)
    .exactOptional(),
});
export type ImagePolicyConfig = z.input<typeof imagePolicy>;
export type ImagePolicy = z.output<typeof imagePolicy>;

const DEFAULT_REGISTRY = 'docker.io';
/** The id of an image, which no registry gave. */
const ID = /^(sha256:)?[0-9a-f]{64}$/;

/** The registry of an image, by its name as engines read it; null: it is an id. */
export function registryOf(image: string): string | null {
  if (ID.test(image)) return null;
  const [host = '', ...rest] = image.split('/');
  const isHost = rest.length > 0 && (host.includes('.') || host.includes(':') || host === 'localhost');
  return isHost ? host.replace(/^(index|registry-1)\.docker\.io$/, DEFAULT_REGISTRY) : DEFAULT_REGISTRY;
}

/** Throws `image_refused` for an image of another registry. */
export function assertImageAllowed(image: string, { registries }: ImagePolicy): void {
  if (registries === undefined) return;
  const registry = registryOf(image);
  if (registry !== null && registries.includes(registry)) return;
  const of = registry === null ? 'is an id, which has no registry' : `is of the registry ${registry}`;
  throw new HoldfastError(
    'image_refused',
    `The image ${image} ${of}; \`imagePolicy.registries\` allows ${registries.join(', ')}.`,
  );
}

/** With its tag: without one, engines would pull every tag. */
export const pulledName = (image: string): string =>
  image.includes('@') || /:[^/]*$/.test(image) ? image : `${image}:latest`;
