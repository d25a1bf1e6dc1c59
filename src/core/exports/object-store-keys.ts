/** What a key of an object store is made of, under the names that every program of S3 knows. */
export const OBJECT_STORE_KEYS = {
  accessKeyId: { variable: 'AWS_ACCESS_KEY_ID', description: 'Name of the key of the object store' },
  secretAccessKey: { variable: 'AWS_SECRET_ACCESS_KEY', description: 'The key itself' },
  sessionToken: { variable: 'AWS_SESSION_TOKEN', description: 'Token of a key that is valid for some time only' },
} as const;
