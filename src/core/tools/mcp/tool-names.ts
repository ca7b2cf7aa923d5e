import { createHash } from 'node:crypto';

const LONGEST = 64;
const FOREIGN = /[^A-Za-z0-9_-]+/g;

/**
 * Names under which models see the tools of one server: `mcp_<server>_<tool>`, letters, digits, `_` and `-`, at most
 * 64. A name depends on nothing but the configured servers and this server's own tools, so that it means the same tool
 * in every run, process and saved chain. What would be ambiguous gets a hash of both names as a suffix: a shortened
 * name; a tool whose name had to be changed into one that another tool has; the tools of a server whose prefix begins
 * with that of another (`a_b` beside `a`).
 */
export function toolNames(
  server: string,
  tools: readonly string[],
  servers: readonly string[],
): ReadonlyMap<string, string> {
  const prefix = serverPrefix(server);
  const shadowed = servers.some((other) => other !== server && shadows(other, server));
  const plain = tools.map((tool) => prefix + tool.replace(FOREIGN, '_'));
  const names = tools.map((tool, index) => {
    const name = plain[index] ?? prefix;
    const altered = name !== prefix + tool;
    const clash = altered && plain.some((other, at) => at !== index && other === name);
    const tooLong = name.length > LONGEST;
    return [tool, shadowed || clash || tooLong ? withHash(name, server, tool) : name] as const;
  });
  return new Map(names);
}

function serverPrefix(server: string): string {
  return `mcp_${server.replace(FOREIGN, '_')}_`;
}

/** Could a tool of `server` get the name of a tool of `other`? Of two equal prefixes the altered name gives way. */
function shadows(other: string, server: string): boolean {
  const [theirs, own] = [serverPrefix(other), serverPrefix(server)];
  return theirs === own ? own !== `mcp_${server}_` : own.startsWith(theirs);
}

function withHash(name: string, server: string, tool: string): string {
  const hash = createHash('sha256').update(`${server}\0${tool}`).digest('hex').slice(0, 8);
  return `${name.slice(0, LONGEST - hash.length - 1)}_${hash}`;
}
