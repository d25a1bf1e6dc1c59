import { z } from 'zod';
import { HoldfastError } from '../errors/errors.js';
import { secretPlace } from '../secrets/secret-place.js';

const DEFAULT_REGISTRY = 'docker.io';
/** Hosts of the default registry, as some programs write it. */
const DEFAULT_HOSTS = /^(index|registry-1)\.docker\.io$/;

const registryHost = z
  .string()
  .max(260)
  .regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?$/, 'is no host such as ghcr.io or registry.example:5000')
  // Under another name no image would be of it.
  .refine((host) => !DEFAULT_HOSTS.test(host), `is the registry ${DEFAULT_REGISTRY}, which has this name here`);

const registryLogin = z.strictObject({
  user: z
    .string()
    .max(256)
    .regex(/^[^:\p{Cc}]+$/u, 'is no user: it is empty, or has a colon or a control character'),
  password: secretPlace('REGISTRY_TOKEN'),
});

/** When images that were pulled for runs, and that no run needs, are removed from the engine. */
const imageCollection = z
  .strictObject({
    /** Those that nothing has used for so long. */
    unusedHours: z.number().min(0.25).max(87_600).exactOptional(),
    /** The longest unused ones, while all images of the engine take more than this. */
    aboveGb: z.number().min(0.001).max(1_000_000).exactOptional(),
    /** Names of images that stay. Those of agents of the configuration stay, too. */
    keep: z.array(z.string().min(1).max(512)).max(1000).default([]),
  })
  .refine(({ unusedHours, aboveGb }) => unusedHours !== undefined || aboveGb !== undefined, {
    message: 'names neither unusedHours nor aboveGb',
  });
export type ImageCollection = z.output<typeof imageCollection>;

const policyFields = z.strictObject({
  /** `never`: the engine has the image. `missing`: it is pulled if the engine lacks it. `always`: before each new container of a run. */
  pull: z.enum(['never', 'missing', 'always']).default('never'),
  /** Registries whose images are allowed, as `ghcr.io` or `registry.example:5000`. Unset: all. */
  registries: z.array(registryHost).min(1).max(100).exactOptional(),
  /** Logins by registry. Passwords are read where they are, and go only to the engine, for images of that registry. */
  credentials: z.record(registryHost, registryLogin).exactOptional(),
  /** Images that each worker pulls before a run needs them. They stay. */
  ahead: z.array(z.string().min(1).max(512)).max(100).default([]),
  /** Unset: no image is removed. */
  collect: imageCollection.exactOptional(),
});

/** Which images containers are made of, whether the engine fetches them, and when they go. */
export const imagePolicy = policyFields
  .refine(({ pull, ahead }) => ahead.length === 0 || pull !== 'never', {
    path: ['ahead'],
    message: 'needs `pull: missing` or `pull: always`',
  })
  .refine(({ pull, collect }) => collect === undefined || pull !== 'never', {
    path: ['collect'],
    message: 'needs `pull: missing` or `pull: always`: an image that was removed is pulled again when a run needs it',
  })
  .superRefine(({ ahead, registries }, context) => {
    for (const [index, image] of ahead.entries()) {
      const problem = aheadProblem(image, registries);
      if (problem !== null) context.addIssue({ code: 'custom', path: ['ahead', index], message: problem });
    }
  });
export type ImagePolicyConfig = z.input<typeof imagePolicy>;
export type ImagePolicy = z.output<typeof imagePolicy>;

/** The id of an image, which no registry gave. */
const ID = /^(sha256:)?[0-9a-f]{64}$/;
/** A name that engines also read as the beginning of an id: of any image that they have, whatever registry it is from. */
const MAYBE_ID = /^(sha256:)?[0-9a-f]{1,64}$/;

/** The host that a name begins with, as engines read it, and the rest; null: it begins with none. No path has capital letters. */
function splitHost(image: string): readonly [host: string | null, path: string] {
  const [host = '', ...rest] = image.split('/');
  const isHost = rest.length > 0 && (/[.:A-Z]/.test(host) || host === 'localhost');
  return isHost ? [host, rest.join('/')] : [null, image];
}

/** The registry of an image, by its name; null: it is an id. */
export function registryOf(image: string): string | null {
  if (ID.test(image)) return null;
  const [host] = splitHost(image);
  return host?.replace(DEFAULT_HOSTS, DEFAULT_REGISTRY) ?? DEFAULT_REGISTRY;
}

/** One text for all names of the same image: with its registry, and by its digest or its tag. */
export function fullImageName(image: string): string {
  const registry = registryOf(image);
  if (registry === null) return image.startsWith('sha256:') ? image : `sha256:${image}`;
  const path = pulledName(splitHost(image)[1]);
  const whole = registry === DEFAULT_REGISTRY && !path.includes('/') ? `library/${path}` : path;
  // Where a digest is, the tag says nothing.
  return `${registry}/${whole.replace(/:[^:@/]*@/, '@')}`;
}

/** Why no worker could pull an image ahead; null: nothing is known that hinders it. */
function aheadProblem(image: string, registries: readonly string[] | undefined): string | null {
  const registry = registryOf(image);
  if (registry === null) return 'is an id, which no registry gives';
  const isAllowed = registries === undefined || (registries.includes(registry) && !MAYBE_ID.test(image));
  return isAllowed ? null : 'is an image that `registries` does not allow';
}

/** Throws `image_refused` for an image of another registry. */
export function assertImageAllowed(image: string, { registries }: ImagePolicy): void {
  if (registries === undefined) return;
  const registry = MAYBE_ID.test(image) ? null : registryOf(image);
  if (registry !== null && registries.includes(registry)) return;
  const of = registry === null ? 'may be an id, which has no registry' : `is of the registry ${registry}`;
  throw new HoldfastError(
    'image_refused',
    `The image ${image} ${of}; \`imagePolicy.registries\` allows ${registries.join(', ')}.`,
    registry === null ? { hint: 'Name the image by its registry, its path, and its tag or digest.' } : {},
  );
}

/** With its tag: without one, engines would pull every tag. */
export const pulledName = (image: string): string =>
  image.includes('@') || /:[^/]*$/.test(image) ? image : `${image}:latest`;
