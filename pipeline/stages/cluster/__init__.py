"""The cluster stage: a story joins the cluster of its event, or opens one."""
