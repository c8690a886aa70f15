import { createRequire } from "node:module";
import { word } from "./fields.mjs";

/** Return an async function that fetches the page once, over a connection of its own. */
export function fetching(fields) {
  const url = fields.url == null ? "" : word(fields, "url");
  const scheme = /^(https?):\/\//.exec(url)?.[1];
  if (scheme === undefined)
    throw new Error(
      `workload "${String(fields.spec).slice(0, 60)}" needs a "url" to fetch; expected http://…`,
    );
  // Not imported at the top, as an idle worker would be larger.
  const { get } = createRequire(import.meta.url)(`node:${scheme}`);
  return async (task) => {
    let request;
    try {
      await task.until((resolve, reject) => {
        request = get(url, { agent: false }, (response) => {
          const { statusCode } = response;
          if (statusCode !== 200)
            reject(new Error(`${url} answered ${statusCode}, not 200`));
          response.on("error", reject); // as for a truncated body
          response.on("end", resolve);
          response.resume();
        });
        request.on("error", reject);
      });
    } finally {
      request.destroy();
    }
  };
}
