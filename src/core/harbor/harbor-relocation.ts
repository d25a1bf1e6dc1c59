/**
 * Harbor's agents are root and write anywhere; the agents here write below the workspace. A directory that a task uses outside of
 * its workspace gets a place below `.root` of it.
 */

export const ROOT_DIR = '.root';

/** Directories that many programs share: a file in one of them is moved by itself. */
const SHARED = new Set(
  [
    '/ /bin /sbin /lib /lib32 /lib64 /libx32 /usr /etc /var /opt /home /srv /mnt /media',
    '/usr/bin /usr/sbin /usr/lib /usr/share /usr/include /usr/src /usr/libexec /usr/local /usr/lib/python3',
    '/usr/local/bin /usr/local/sbin /usr/local/lib /usr/local/share /usr/local/etc /usr/local/include',
    '/var/log /var/lib /var/run /var/cache /var/spool /var/tmp /var/mail /var/opt /var/backups /var/lock',
    '/etc/init.d /etc/cron.d /etc/cron.daily /etc/cron.hourly /etc/apt /etc/profile.d /etc/logrotate.d /etc/sudoers.d',
    '/etc/ssl /etc/ssl/certs /etc/pam.d /etc/default /etc/systemd /etc/systemd/system /etc/security /etc/alternatives',
    '/etc/sysctl.d /etc/modprobe.d /etc/ld.so.conf.d /etc/skel',
  ].flatMap((line) => line.split(' ')),
);

/** Mounted by the engine, or taken by Holdfast. */
const NEVER = ['/proc', '/sys', '/dev', '/run', '/boot', '/.holdfast'];

export const isWithin = (path: string, directory: string): boolean =>
  path === directory || path.startsWith(directory === '/' ? '/' : `${directory}/`);

/** The path that has to be moved so that an absolute path is below the workspace; null: it is there already, or cannot be moved. */
export function relocationOf(path: string, workdir: string): string | null {
  if (isWithin(path, workdir) || NEVER.some((one) => isWithin(path, one))) return null;
  const parts = path.split('/').slice(1);
  for (const depth of parts.keys()) {
    const prefix = `/${parts.slice(0, depth + 1).join('/')}`;
    if (!SHARED.has(prefix) && !isWithin(workdir, prefix)) return prefix;
  }
  return null;
}

const PATH = /(?<![\w.}/~*-])\/[A-Za-z_][\w.-]*(?:\/[\w.@-]*)+/g;
const SYSTEM = /^\/(bin|sbin|lib\w*|usr)\//;

/** Directories outside of the workspace that a text names, without those of the system. A path that is a URL's may be among them. */
export const directoriesNamedIn = (text: string, workdir: string): readonly string[] =>
  [...new Set(text.match(PATH) ?? [])].flatMap((found) => {
    const path = found.replace(/[/.]+$/, '');
    if (SYSTEM.test(path)) return [];
    const moved = relocationOf(path, workdir);
    // A file directly in a shared directory: it is the system's, unless the task puts it there.
    return moved === null || (moved === path && !found.endsWith('/')) ? [] : [moved];
  });

/** Of these, directories of files that an instruction names: with an extension, and not behind a verb of HTTP. */
export const directoriesOfFilesIn = (text: string, workdir: string): readonly string[] =>
  [...text.matchAll(PATH)].flatMap(({ 0: found, index }) => {
    if (/\b(?:GET|POST|PUT|PATCH|DELETE|HEAD)\s+[`"']?$/.test(text.slice(0, index))) return [];
    if (!/\/[\w-]+\.[A-Za-z][A-Za-z0-9]{0,5}$/.test(found.replace(/\.+$/, ''))) return [];
    return directoriesNamedIn(found, workdir);
  });
