"""Link matrices L other than the random walk (Section 1): a page is important if important pages point to it, or also
if it points to them.

    random-walk    L[i, j] = 1/k_i for the k_i links of page i           `OpicLedger(matrix="random-walk")`
    all-ones       L[i, j] = 1 for each link                              `OpicLedger(matrix="all-ones", damping=1.0)`
    undirected     L[i, j] = 1 if i links to j or j to i                  the same, on the rows of `undirected(graph)`

The result is the fixpoint of x -> x (L + I) / |x (L + I)|, which has the eigenvectors of L and also converges on
periodic graphs. OPIC needs no + I: H / G is a mean over time, so a period averages out.

All-ones. With rho the dominant eigenvalue and x the fixpoint, x = x L / rho. Summed up, rho = sum of x_i k_i: the mean
row sum weighted by the flow of cash, which the ledger counts on the way (`cash`). So page i pays C_i / rho per link,
more or less than it has. A bank books the difference, so that no unit is lost: sum of C + purse + bank = total.

- Exact: conservation; and if the estimates no longer change, they are the eigenvector, in any order of visits.
- Approximate: until rho is learned, the cash of the pages grows or shrinks. When it leaves its bounds (1/256 of the
  total; a thousand times the total of a small graph, twice that of the largest), all cash is changed in proportion,
  which is the |.| above. The bounds are wide because cash also oscillates: the visit of a hub makes more cash than
  there was, and settling at every oscillation would favour pages. The error decreases like (log G) / G instead of
  1 / G.
- damping = 1 gives the eigenvector of L. It is unique if the graph is strongly connected; otherwise the cash collects
  where the eigenvalue is largest, and pages that do not lead back there fade to 0, as the papers say. With damping
  d < 1 the fixpoint is x = d x L / rho + (1 - d) / n.
- Links have no weights there, and a link that occurs twice counts twice.
"""

import numpy as np

from centime.model.graph import Graph, graph_from_links


def undirected(graph: Graph) -> Graph:
    """The graph with every link in both directions, each once, without weights."""
    pages = np.int64(graph.pages)
    sources = np.repeat(np.arange(pages, dtype=np.int64), graph.out_degree)
    links = np.unique(np.concatenate([sources * pages + graph.targets, graph.targets * pages + sources]))
    return graph_from_links(graph.pages, links // max(1, pages), links % max(1, pages))
