// Nothing of Argo CD is built here: its sources hold the definition of an Application.
module github.com/kalypso-io/kalypso/e2e/tools/argocd

go 1.26.0

require github.com/argoproj/argo-cd/v3 v3.5.7
