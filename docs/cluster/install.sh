#!/bin/sh
# Installs assay for a cluster, from this checkout, into the Python of the shell. Every node needs the same.
#   TORCH_INDEX  where torch comes from, such as https://download.pytorch.org/whl/cu126; pip's own index by default
#   EXTRAS       of assay; Ray comes with its job server, which KubeRay calls
set -eu
checkout=$(cd "$(dirname "$0")/../.." && pwd)
extras=${EXTRAS-ray,neural,amr}
version() { sed -n "s/^$1==//p" "$checkout/constraints.txt"; }
case ",$extras," in
*,neural,* | *,train,*)
  python -m pip install "torch==$(version torch)" ${TORCH_INDEX:+--index-url "$TORCH_INDEX"}
  ;;
esac
python -m pip install -c "$checkout/constraints.txt" "$checkout[$extras]" "ray[default]"
python -m assay --version
