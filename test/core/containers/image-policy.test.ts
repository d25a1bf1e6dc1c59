import { expect, it } from 'vitest';
import { assertImageAllowed, imagePolicy, pulledName, registryOf } from '../../../src/core/containers/image-policy.js';
import { secret } from '../../../src/engine/secrets/secret.js';

it('reads the registry of an image as engines do', () => {
  const registries = ['python:3.13', 'library/python', 'index.docker.io/a/b', 'ghcr.io/o/i@sha256:aa', 'localhost/i:1'];
  expect(registries.map(registryOf)).toEqual(['docker.io', 'docker.io', 'docker.io', 'ghcr.io', 'localhost']);
  // A path has no capital letters, so that newer engines read a host.
  expect(registryOf('INTRANET/i:1')).toBe('INTRANET');
  expect([registryOf('reg.example:5000/i'), registryOf(`sha256:${'a'.repeat(64)}`)]).toEqual([
    'reg.example:5000',
    null,
  ]);
});

it('refuses images of other registries by name, and allows all without a list', () => {
  const policy = imagePolicy.parse({ registries: ['ghcr.io', 'docker.io'] });
  assertImageAllowed('ghcr.io/o/i', policy);
  assertImageAllowed('python', policy);
  assertImageAllowed('elsewhere.example/i', imagePolicy.parse({}));
  for (const image of ['ghcr.io.evil.example/o/i', 'quay.io/i', 'INTRANET/i', 'f'.repeat(64)])
    expect(() => assertImageAllowed(image, policy)).toThrow(expect.objectContaining({ code: 'image_refused' }));
  const ahead = (...images: string[]) => ({ pull: 'missing', ahead: images, registries: ['docker.io', 'ghcr.io'] });
  expect(imagePolicy.safeParse(ahead('python:3.13', 'index.docker.io/o/i', 'ghcr.io/o/i')).success).toBe(true);
  for (const images of [['quay.io/i'], ['python', 'f'.repeat(64)], [`sha256:${'a'.repeat(64)}`], ['ada']])
    expect(imagePolicy.safeParse(ahead(...images)).error?.issues[0]?.path).toEqual(['ahead', images.length - 1]);
  expect(imagePolicy.safeParse({ pull: 'missing', ahead: ['f'.repeat(64)] }).success).toBe(false);
  const credentials = { 'index.docker.io': { user: 'bot', password: secret.env('TOKEN') } };
  for (const bad of [{ credentials }, { registries: ['index.docker.io'] }, { registries: ['registry-1.docker.io'] }])
    expect(
      imagePolicy
        .safeParse(bad)
        .error?.issues.map((one) => JSON.stringify(one))
        .join(),
    ).toContain('is the registry docker.io');
  for (const bad of [{ pull: 'often' }, { registries: [] }, { registries: ['https://ghcr.io'] }])
    expect(imagePolicy.safeParse(bad).success).toBe(false);
});

it('pulls one tag', () => {
  expect(['a', 'r.io:5000/a', 'a:1', 'r.io/a@sha256:aa'].map(pulledName)).toEqual([
    ...['a:latest', 'r.io:5000/a:latest', 'a:1', 'r.io/a@sha256:aa'],
  ]);
});
