import { expect, it } from 'vitest';
import { assertImageAllowed, imagePolicy, pulledName, registryOf } from '../../../src/core/containers/image-policy.js';

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
  for (const bad of [{ pull: 'often' }, { registries: [] }, { registries: ['https://ghcr.io'] }])
    expect(imagePolicy.safeParse(bad).success).toBe(false);
});

it('pulls one tag', () => {
  expect(['a', 'r.io:5000/a', 'a:1', 'r.io/a@sha256:aa'].map(pulledName)).toEqual([
    ...['a:latest', 'r.io:5000/a:latest', 'a:1', 'r.io/a@sha256:aa'],
  ]);
});
