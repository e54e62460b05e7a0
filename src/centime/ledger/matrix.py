"""Other link matrices L than the random walk (Section 1): a page is important if important pages point to it, or also
if it points to them.

    random-walk    L[i, j] = 1/k_i for the k_i links of page i           `OpicLedger(matrix="random-walk")`
    all-ones       L[i, j] = 1 for each link                              `OpicLedger(matrix="all-ones", damping=1.0)`
    undirected     L[i, j] = 1 if i links to j or j to i                  the same, on the rows of `undirected(graph)`

What is looked for is the fixpoint of x -> x (L + I) / |x (L + I)|, which has the eigenvectors of L and also converges
on periodic graphs. OPIC needs no + I: H / G is a mean over time, so that a period averages out.

All-ones. With rho the dominant eigenvalue and x the fixpoint, x = x L / rho. Summed up, rho = sum of x_i k_i: the mean
row sum weighted by the flow of cash, which the ledger counts on the way (`cash`). So page i pays C_i / rho a link, more
or less than it has, and the difference is booked with a bank, so that no unit is lost: sum of C + purse + bank = total.

- Exact: conservation; and if the estimates stand still they are the eigenvector, whatever the order of visits.
- Approximate: while rho is still being learned, the cash with the pages grows or shrinks. When it has gone too far (to 1/256 of the
  total, or a thousand times the total of a small graph, twice that of the largest), everybody's cash is changed in proportion, which is
  the |.| above. The bounds are wide because cash also swings, a hub's visit making more of it than there was, and settling at every
  swing would favour pages. The error falls like (log G) / G instead of 1 / G.
- damping = 1 gives the eigenvector of L. It is unique if the graph is strongly connected; else the cash gathers where the eigenvalue
  is largest, and pages that do not lead back there fade to 0, as the papers say. With damping d < 1 the fixpoint is
  x = d x L / rho + (1 - d) / n.
- Links have no weights there, and a link that is named twice counts twice.
"""

import numpy as np

from centime.model.graph import Graph, graph_from_links


def undirected(graph: Graph) -> Graph:
    """The graph with every link in both directions, each once; weights are left out."""
    pages = np.int64(graph.pages)
    sources = np.repeat(np.arange(pages, dtype=np.int64), graph.out_degree)
    links = np.unique(np.concatenate([sources * pages + graph.targets, graph.targets * pages + sources]))
    return graph_from_links(graph.pages, links // max(1, pages), links % max(1, pages))
