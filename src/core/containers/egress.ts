/** Where a container without a network may reach out to, through a proxy. */

/** `host`, `*.suffix`, `host:port` or `*.suffix:port`, in lower case. */
export const EGRESS_RULE = /^(\*\.)?[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?(:[1-9]\d{0,4})?$/;

/** Ports of rules that name none. */
const WEB_PORTS: ReadonlySet<number> = new Set([80, 443]);

/** Whether one of the rules names this host and port. `*.suffix` is every name below the suffix, and not the suffix itself. */
export function mayReach(rules: readonly string[], host: string, port: number): boolean {
  const name = host.toLowerCase().replace(/\.$/, '');
  return rules.some((rule) => {
    const [pattern = '', asked] = rule.split(':');
    const isNamed = pattern.startsWith('*.') ? name.endsWith(pattern.slice(1)) : name === pattern;
    return isNamed && (asked === undefined ? WEB_PORTS.has(port) : Number(asked) === port);
  });
}
