"""Two reconcilers of a platform with tenants, each called about many objects at once.

    teams      Namespaces labelled tenants.gyre.dev/team: web ──▶ ClusterRoleBinding tenants:web
    addresses  AddressClaims of one pool ──▶ a free address in the status of each

- teams: the ServiceAccounts in all Namespaces of a team get one ClusterRole. The binding follows
  the Namespaces, and goes with the last one.
- addresses: the host calls the plugin about one pool at a time, and shows it what it has written
  for the last call, so that no two claims get one address. A claim keeps its address as long as it
  exists.

What is absent: addresses of deleted claims are not reserved, and pools are settings.
"""

from .addresses import addresses
from .teams import teams

__all__ = ["addresses", "teams"]
