const NAMES: readonly string[] = ['localhost', '127.0.0.1', '::1'];

/** Whether a host name or address is one that only this machine can reach. IPv6 with or without brackets. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '').toLowerCase();
  return NAMES.includes(name) || name.endsWith('.localhost') || /^127(\.\d{1,3}){3}$/.test(name);
}
