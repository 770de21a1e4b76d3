"""What assay concludes: records that each verb computes from run folders; :mod:`assay.reports` lays them out."""
