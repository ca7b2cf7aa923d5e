import type { LookupAddress } from 'node:dns';
import { lookup as systemLookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';
import { ThreadloopError, toError } from '../../errors.js';

/** Finds every address of a host name. */
export type HostLookup = (hostname: string) => Promise<readonly LookupAddress[]>;

export interface AddressGuardOptions {
  /** Lets a checked address pass that is not public. For tests, whose servers are on loopback; never configured. */
  readonly allow?: ((address: string) => boolean) | undefined;
  readonly lookup?: HostLookup | undefined;
}

/** Decides where a request of the model may go. */
export interface AddressGuard {
  /**
   * The addresses a connection for this URL may be made to, never none. Connect to these and look nothing up again: a
   * name may have another address a moment later. Throws ThreadloopError `web_fetch_refused` or `web_fetch_failed`.
   */
  addressesOf(url: URL): Promise<readonly LookupAddress[]>;
}

/** The ports below 1024 that are for the web; the others there belong to mail, shells and file servers. */
const LOW_PORTS = ['', '80', '443'];
const FIRST_FREE_PORT = 1_024;

/** Higher ports that the Fetch standard blocks, because their servers can be talked to in HTTP to do harm. */
const BLOCKED_PORTS = new Set(
  [
    1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
  ].map(String),
);

/** A public address by number, but inside Azure every machine's door to the platform. */
const AZURE_PLATFORM = '168.63.129.16';

const name = async (hostname: string) => systemLookup(hostname, { all: true });

/**
 * Lets requests out to public addresses only: nothing private, local, shared, reserved or multicast, no IPv4 address
 * inside an IPv6 one, no address of this machine.
 */
export function createAddressGuard({ allow = () => false, lookup = name }: AddressGuardOptions = {}): AddressGuard {
  return {
    async addressesOf(url) {
      refuseOtherThanWeb(url);
      const host = url.hostname.replace(/^\[|\]$/g, '');
      const family = isIP(host);
      const found = family === 0 ? await find(lookup, host) : [{ address: host, family }];
      const usable = found.filter(({ address }) => isPublicAddress(address) || allow(address));
      if (usable.length > 0) return usable;
      // Which address a name has inside is nobody's business outside.
      const what = family === 0 ? `the address of ${host}` : host;
      throw refused(`${what} is not on the public internet`);
    },
  };
}

/** False for everything that is not plainly a host of the public internet, and for this machine's own addresses. */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text) || text === AZURE_PLATFORM || isOwn(text)) return false;
  const address = ipaddr.parse(text);
  if (address.range() !== 'unicast') return false;
  // 2000::/3 is all there is of public IPv6; this also refuses IPv4 in the old form ::127.0.0.1.
  return address instanceof ipaddr.IPv4 || ((address.parts[0] ?? 0) & 0xe000) === 0x2000;
}

function isOwn(address: string): boolean {
  return Object.values(networkInterfaces()).some((all) => all?.some((own) => own.address === address));
}

function refuseOtherThanWeb(url: URL): void {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw refused(`${url.protocol} is not http: or https:`);
  if (url.username !== '' || url.password !== '') throw refused('an address with a user name or password is not used');
  const open = LOW_PORTS.includes(url.port) || (Number(url.port) >= FIRST_FREE_PORT && !BLOCKED_PORTS.has(url.port));
  if (!open) throw refused(`port ${url.port} is not a port of the web`);
}

async function find(lookup: HostLookup, host: string): Promise<readonly LookupAddress[]> {
  try {
    return await lookup(host);
  } catch (thrown) {
    throw new ThreadloopError(`the host ${host} was not found`, { code: 'web_fetch_failed', cause: toError(thrown) });
  }
}

function refused(problem: string): ThreadloopError {
  return new ThreadloopError(`refused: ${problem}`, { code: 'web_fetch_refused' });
}
